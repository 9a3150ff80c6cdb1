// A text field with server completion: a combobox that calls `completion/complete` while the user types.
import {h, put} from './dom.js'

const PAUSE = 150
const SHOWN = 50
let fields = 0

// `ref` names the prompt or template, `others()` returns the other arguments so far. Returns {node, input, value()}.
export function completedField({mcp}, {name, description, required, value = '', ref, others, onInput}) {
  const id = `completed-${(fields += 1)}`
  const can = Boolean(mcp.capabilities.completions)
  const input = h('input.input', {
    id, type: 'text', value, autocomplete: 'off', spellcheck: 'false', required,
    'aria-describedby': description && `${id}-about`,
    ...(can && {role: 'combobox', 'aria-autocomplete': 'list', 'aria-expanded': 'false', 'aria-controls': `${id}-list`}),
  })
  const box = h('div.completions', {id: `${id}-list`, role: 'listbox', 'aria-label': `Values for ${name}`, hidden: true})
  const node = h('div.field.completed', h('label', {for: id}, name, required && h('span.bad', {title: 'required'}, ' *')),
    description && h('span.quiet', {id: `${id}-about`}, description), input, box)
  let values = []
  let at = -1
  let timer = 0
  let asked = 0

  function close() {
    clearTimeout(timer)
    asked += 1
    box.hidden = true
    at = -1
    input.setAttribute('aria-expanded', 'false')
    input.removeAttribute('aria-activedescendant')
  }

  function draw(more) {
    put(box, values.map((one, index) => h('div.item', {
      id: `${id}-${index}`, role: 'option', 'aria-selected': String(index === at),
      // On mousedown, before the field loses focus and closes the list.
      onmousedown: (event) => {
        event.preventDefault()
        take(index)
      },
    }, one)), more && h('div.quiet.item', {role: 'option', 'aria-disabled': 'true', 'aria-selected': 'false'}, more))
    box.hidden = !values.length
    input.setAttribute('aria-expanded', String(!box.hidden))
    if (at >= 0) input.setAttribute('aria-activedescendant', `${id}-${at}`)
    document.getElementById(`${id}-${at}`)?.scrollIntoView({block: 'nearest'})
  }

  function take(index) {
    input.value = values[index]
    close()
    onInput?.()
  }

  async function ask() {
    const mine = (asked += 1)
    const params = {ref, argument: {name, value: input.value}, context: {arguments: others?.() ?? {}}}
    const result = await mcp.request('completion/complete', params).catch(() => null)
    if (mine !== asked || document.activeElement !== input) return
    const found = Array.isArray(result?.completion?.values) ? result.completion.values : []
    const {total, hasMore} = result?.completion ?? {}
    values = found.slice(0, SHOWN).map(String)
    const left = Number(total) - values.length
    draw(left > 0 ? `${left} more: keep typing` : (hasMore || found.length > SHOWN) && 'more: keep typing')
  }

  function soon() {
    clearTimeout(timer)
    timer = setTimeout(ask, PAUSE)
  }

  input.addEventListener('input', () => {
    onInput?.()
    if (can) soon()
  })
  if (can) {
    input.addEventListener('focus', soon)
    input.addEventListener('blur', close)
    input.addEventListener('keydown', (event) => {
      const step = {ArrowDown: 1, ArrowUp: -1}[event.key]
      if (step && box.hidden) ask()
      else if (step) {
        at = (at + step + values.length) % values.length
        draw()
      } else if (event.key === 'Enter' && at >= 0 && !event.ctrlKey && !event.metaKey) take(at)
      else if (event.key === 'Escape' && !box.hidden) close()
      else return
      event.preventDefault()
    })
  }
  return {node, input, value: () => input.value}
}
