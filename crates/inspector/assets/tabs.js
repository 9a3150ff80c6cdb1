// Tabs with panels: arrows move between them, and only the chosen panel is shown.
import {h, put} from './dom.js'

let sets = 0

/**
 * @param {string} label
 * @param {{id: string, title: string, draw?: () => any}[]} parts `draw` creates the panel's content each time it is chosen
 * @returns {{node: Node, panel: (id: string) => Node, choose: (id: string) => void, chosen: () => string, rename, redraw}}
 */
export function makeTabs(label, parts) {
  const set = `tabs-${(sets += 1)}`
  const buttons = parts.map(({id, title}) => h('button', {
    type: 'button', role: 'tab', id: `${set}-${id}`, 'aria-controls': `${set}-${id}-panel`, onclick: () => choose(id),
  }, title))
  const panels = parts.map(({id}) => h('div.tab-panel.col', {
    role: 'tabpanel', id: `${set}-${id}-panel`, 'aria-labelledby': `${set}-${id}`, tabindex: 0,
  }))
  const at = (id) => parts.findIndex((one) => one.id === id)
  let chosen = parts[0].id

  function choose(id) {
    chosen = id
    parts.forEach((one, index) => {
      const on = one.id === id
      buttons[index].setAttribute('aria-selected', String(on))
      buttons[index].tabIndex = on ? 0 : -1
      panels[index].hidden = !on
    })
    redraw(id)
  }

  function redraw(id) {
    const part = parts[at(id)]
    if (part.draw && id === chosen) put(panels[at(id)], part.draw())
  }

  function press(event) {
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key]
    if (!step) return
    const next = (at(chosen) + step + parts.length) % parts.length
    choose(parts[next].id)
    buttons[next].focus()
    event.preventDefault()
  }

  const node = h('div.tabbed.col', h('div.tabs', {role: 'tablist', 'aria-label': label, onkeydown: press}, buttons), panels)
  return {
    node, choose, redraw, chosen: () => chosen, panel: (id) => panels[at(id)],
    rename: (id, title) => put(buttons[at(id)], title),
  }
}
