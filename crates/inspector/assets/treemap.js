// Draws shares as boxes: a squarified treemap of buttons, and the same as a table.
import {h} from './dom.js'

const WIDTH = 160
const HEIGHT = 70
const MOST = 80

// The worst aspect ratio in a row along a side.
function worst(row, side) {
  const depth = row.reduce((sum, {area}) => sum + area, 0) / side
  return Math.max(...row.map(({area}) => Math.max(depth * depth / area, area / (depth * depth))))
}

// Fills rows along the shorter side of the remaining area while that makes their boxes squarer.
export function squarify(items, width, height) {
  const total = items.reduce((sum, {size}) => sum + size, 0)
  const rest = items.map((item) => ({item, area: item.size / total * width * height}))
  const placed = []
  let [left, top] = [0, 0]
  while (rest.length) {
    const side = Math.min(width, height)
    let taken = 1
    while (taken < rest.length && worst(rest.slice(0, taken + 1), side) <= worst(rest.slice(0, taken), side)) taken += 1
    const row = rest.splice(0, taken)
    const depth = row.reduce((sum, {area}) => sum + area, 0) / side
    const upright = width >= height
    let at = 0
    for (const {item, area} of row) {
      const long = area / depth
      placed.push(upright ? {item, left, top: top + at, width: depth, height: long}
        : {item, left: left + at, top, width: long, height: depth})
      at += long
    }
    if (upright) [left, width] = [left + depth, width - depth]
    else [top, height] = [top + depth, height - depth]
  }
  return placed
}

const percent = (part, whole) => `${(part / whole * 100).toFixed(3)}%`

// Items are {name, size, note, opens}; `open(item)` opens one. Arrow keys move between boxes.
export function treemap({items, label, open, heads}) {
  const all = items.filter(({size}) => size > 0).sort((one, other) => other.size - one.size)
  if (!all.length) return h('p.quiet', 'Nothing here has a size.')
  const boxes = squarify(all.slice(0, MOST), WIDTH, HEIGHT)
  const nodes = boxes.map(({item, ...box}, at) => h('button', {
    type: 'button', tabindex: at ? '-1' : '0', title: `${item.name}: ${item.note}`,
    'aria-label': `${item.name}: ${item.note}`, 'aria-disabled': item.opens ? false : 'true',
    onclick: () => item.opens && open(item),
    style: {
      left: percent(box.left, WIDTH), top: percent(box.top, HEIGHT), width: percent(box.width, WIDTH),
      height: percent(box.height, HEIGHT), '--share': `${Math.max(8, 44 - at * 3)}%`,
    },
  }, box.width > 7 && box.height > 4 && h('span.cut', item.name), ' ', box.width > 16 && box.height > 8 && h('span.cut.quiet', item.note)))
  const map = h('div.treemap', {role: 'group', 'aria-label': label, onkeydown: (event) => rove(event, nodes)}, nodes)
  return h('div.col', map, all.length > MOST && h('p.quiet', `Showing the largest ${MOST} of ${all.length}.`),
    h('details', h('summary', 'As a table'), table(all, open, heads)))
}

// One box is in the tab order; arrows move from it.
function rove(event, nodes) {
  const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key]
  const from = nodes.indexOf(event.target)
  const next = nodes[from + step]
  if (!step || from < 0) return
  event.preventDefault()
  if (!next) return
  event.target.tabIndex = -1
  next.tabIndex = 0
  next.focus()
}

function table(items, open, heads) {
  const row = (item) => h('tr', h('td', item.opens
    ? h('button.link', {type: 'button', onclick: () => open(item)}, item.name) : item.name), h('td', item.note))
  return h('table.table', h('thead', h('tr', heads.map((head) => h('th', {scope: 'col'}, head)))),
    h('tbody', items.slice(0, 400).map(row)))
}
