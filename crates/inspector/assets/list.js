// A listbox with a search field: arrows or j and k move, Enter opens. Long lists render only the visible rows.
import {h, put} from './dom.js'

// Above this many rows only the visible ones are rendered.
const WHOLE = 200
const MARGIN = 8
let lists = 0

/**
 * @param {{items: any[], key: (item: any) => string, row: (item: any) => Node, open: (item: any) => void,
 *   label: string, empty?: string | Node, text?: (item: any) => string}} options
 * @param {(bindings: object) => void} keys binds keys of the view
 */
export function makeList({items, key, row, open, label, empty, text = key}, keys) {
  const id = `list-${(lists += 1)}`
  const search = h('input.input', {
    type: 'search', placeholder: `Search ${label.toLowerCase()}`, 'aria-label': `Search ${label.toLowerCase()}`,
    'aria-controls': id, autocomplete: 'off', spellcheck: 'false',
  })
  const count = h('span.quiet.list-count', {role: 'status'})
  const box = h('div.list', {id, role: 'listbox', tabindex: '0', 'aria-label': label})
  const none = h('div.empty', {hidden: true})
  const node = h('div.searchable', h('div.list-head', search, count), box, none)
  let shown = []
  let active = null
  let height = 0

  const at = () => shown.findIndex((item) => key(item) === active)

  function filter() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean)
    shown = words.length ? items.filter((item) => {
      const all = text(item).toLowerCase()
      return words.every((word) => all.includes(word))
    }) : items
    if (words.length && at() < 0) active = shown.length ? key(shown[0]) : null
    put(count, words.length ? `${shown.length} of ${items.length}` : `${items.length}`)
    box.hidden = !shown.length
    none.hidden = Boolean(shown.length)
    put(none, items.length ? `Nothing matches “${search.value}”.` : (empty ?? 'Nothing here.'))
    height = 0
    draw()
  }

  function option(item, index) {
    return h('div.item', {
      role: 'option', id: `${id}-${index}`, 'aria-selected': String(key(item) === active),
      'aria-posinset': index + 1, 'aria-setsize': shown.length,
      onclick: () => choose(item),
    }, row(item))
  }

  function draw() {
    if (shown.length <= WHOLE) put(box, shown.map(option))
    else drawInSight()
    const index = at()
    if (index >= 0 && document.getElementById(`${id}-${index}`)) {
      box.setAttribute('aria-activedescendant', `${id}-${index}`)
    } else box.removeAttribute('aria-activedescendant')
  }

  // All rows of a long list have the height of its first row.
  function drawInSight() {
    if (!height) {
      put(box, option(shown[0], 0))
      height = box.firstChild.offsetHeight || 44
    }
    const first = Math.max(0, Math.floor(box.scrollTop / height) - MARGIN)
    const last = Math.min(shown.length, first + Math.ceil((box.clientHeight || 600) / height) + 2 * MARGIN)
    const space = h('div', {role: 'presentation', style: {height: `${shown.length * height}px`}})
    for (let index = first; index < last; index += 1) {
      const one = option(shown[index], index)
      one.classList.add('placed')
      one.style.setProperty('top', `${index * height}px`)
      one.style.setProperty('height', `${height}px`)
      space.append(one)
    }
    const before = box.scrollTop
    put(box, space)
    box.scrollTop = before
  }

  function reveal() {
    const index = at()
    if (index < 0) return
    if (shown.length > WHOLE && height) {
      if (index * height < box.scrollTop) box.scrollTop = index * height
      else if ((index + 1) * height > box.scrollTop + box.clientHeight) {
        box.scrollTop = (index + 1) * height - box.clientHeight
      }
    }
    draw()
    document.getElementById(`${id}-${index}`)?.scrollIntoView({block: 'nearest'})
  }

  function select(wanted) {
    active = wanted
    reveal()
    if (at() < 0) draw()
  }

  function move(by) {
    if (!shown.length) return
    const now = at()
    const next = now < 0 ? (by > 0 ? 0 : shown.length - 1) : Math.min(shown.length - 1, Math.max(0, now + by))
    select(key(shown[next]))
  }

  function choose(item) {
    active = key(item)
    draw()
    open(item)
  }

  function press(event) {
    // Keys with a modifier belong to the view.
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const page = Math.max(1, Math.floor(box.clientHeight / (height || 44)) - 1)
    const moves = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page}
    if (event.target === box) Object.assign(moves, {Home: -items.length, End: items.length})
    if (event.key in moves) move(moves[event.key])
    else if (event.key === 'Enter' && at() >= 0) choose(shown[at()])
    else return
    event.preventDefault()
  }

  // Hidden lists leave their keys to others.
  const inSight = (run) => () => (node.isConnected && node.offsetParent !== null ? run() : false)
  const step = (by) => inSight(() => {
    box.focus()
    move(by)
  })
  keys({'/': inSight(() => focusSearch()), j: step(1), k: step(-1)})
  const focusSearch = () => {
    search.focus()
    search.select()
  }

  search.addEventListener('input', filter)
  search.addEventListener('keydown', press)
  box.addEventListener('keydown', press)
  box.addEventListener('scroll', () => shown.length > WHOLE && draw(), {passive: true})
  new ResizeObserver(() => shown.length > WHOLE && draw()).observe(box)
  filter()
  return {
    node, select, move, focusSearch,
    update(next) {
      items = next
      filter()
    },
  }
}
