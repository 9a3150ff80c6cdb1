// Draws dependencies: layers from left to right, arrows between them, every node a button.
import {h, svg} from './dom.js'

export const MOST_NODES = 60
const WIDTH = 170
const HEIGHT = 30
const ACROSS = 250
const DOWN = 40
const BACK = 34

// Layers by the longest path from nodes without dependents. An edge that closes a cycle does not count.
export function layersOf(nodes, edges) {
  const out = new Map(nodes.map(({id}) => [id, []]))
  for (const {from, to} of edges) if (from !== to) out.get(from)?.push(to)
  const depth = new Map()
  const order = []
  const state = new Map()
  const visit = (start) => {
    const stack = [[start, 0]]
    state.set(start, 'open')
    while (stack.length) {
      const top = stack.at(-1)
      const next = out.get(top[0])[top[1]++]
      if (next === undefined) {
        state.set(top[0], 'done')
        order.unshift(top[0])
        stack.pop()
      } else if (out.has(next) && !state.has(next)) {
        state.set(next, 'open')
        stack.push([next, 0])
      }
    }
  }
  for (const {id} of nodes) if (!state.has(id)) visit(id)
  const rank = new Map(order.map((id, at) => [id, at]))
  for (const id of order) {
    const mine = depth.get(id) ?? 0
    depth.set(id, mine)
    for (const to of out.get(id)) {
      if (rank.get(to) > rank.get(id)) depth.set(to, Math.max(depth.get(to) ?? 0, mine + 1))
    }
  }
  return depth
}

// The nodes with the most edges, if not all fit, and how many were omitted.
export function bounded(nodes, edges, most = MOST_NODES) {
  if (nodes.length <= most) return {nodes, edges, left: 0}
  const weight = new Map()
  for (const {from, to} of edges) for (const id of [from, to]) weight.set(id, (weight.get(id) ?? 0) + 1)
  const rank = (node) => (node.focus ? Infinity : weight.get(node.id) ?? 0)
  const kept = [...nodes].sort((one, other) => rank(other) - rank(one)).slice(0, most)
  const ids = new Set(kept.map(({id}) => id))
  return {nodes: kept, edges: edges.filter(({from, to}) => ids.has(from) && ids.has(to)), left: nodes.length - most}
}

function place(nodes, edges) {
  const depth = layersOf(nodes, edges)
  const filled = []
  const at = new Map()
  for (const node of nodes) {
    const column = node.column ?? depth.get(node.id)
    const row = filled[column] ?? 0
    filled[column] = row + 1
    at.set(node.id, {column, row})
  }
  const tallest = Math.max(...filled.filter(Boolean))
  for (const spot of at.values()) {
    spot.x = 10 + spot.column * ACROSS
    spot.y = 10 + (spot.row + (tallest - filled[spot.column]) / 2) * DOWN
  }
  return {at, width: filled.length * ACROSS - ACROSS + WIDTH + 20, height: tallest * DOWN + BACK}
}

// Forward edges run from side to side, backward ones below, and edges within a column around the right side.
function way(from, to) {
  const [y1, y2] = [from.y + HEIGHT / 2, to.y + HEIGHT / 2]
  const [x1, x2] = [from.x + WIDTH, to.x]
  if (to.x > from.x) return `M${x1} ${y1}C${(x1 + x2) / 2} ${y1} ${(x1 + x2) / 2} ${y2} ${x2} ${y2}`
  if (to.x === from.x) return `M${x1} ${y1}C${x1 + 45} ${y1} ${x1 + 45} ${y2} ${x1} ${y2}`
  const [low, other] = [from.y + HEIGHT, to.y + HEIGHT]
  return `M${from.x + WIDTH / 2} ${low}C${from.x + WIDTH / 2} ${low + BACK} ${to.x + WIDTH / 2} ${other + BACK} ${to.x + WIDTH / 2} ${other}`
}

const arrow = (from, to) => svg('path', {d: way(from, to), 'marker-end': 'url(#graph-end)'})

// Nodes are {id, label, note, focus, column, opens}, edges {from, to}; a node's own `column` wins over its layer.
export function graph({nodes, edges, label, open}) {
  const shown = bounded(nodes, edges)
  const {at, width, height} = place(shown.nodes, shown.edges)
  const head = svg('marker', {
    id: 'graph-end', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, markerUnits: 'userSpaceOnUse', orient: 'auto',
  }, svg('path', {d: 'M0 0L8 4L0 8z'}))
  const arrows = shown.edges.filter(({from, to}) => from !== to).map(({from, to}) => ({from, to, line: arrow(at.get(from), at.get(to))}))
  const lines = svg('svg', {width, height, 'aria-hidden': 'true'}, svg('defs', {}, head), arrows.map(({line}) => line))
  // Highlights the arrows of the hovered or focused node.
  const mark = (id) => {
    for (const {from, to, line} of arrows) line.classList.toggle('on', from === id || to === id)
  }
  const boxes = shown.nodes.map((node) => {
    const {x, y} = at.get(node.id)
    const said = node.note ? `${node.id}: ${node.note}` : node.id
    return h('button', {
      type: 'button', title: said, 'aria-label': said, 'aria-current': node.focus ? 'true' : false,
      'aria-disabled': node.opens === false ? 'true' : false,
      onclick: () => node.opens !== false && open(node), onfocus: () => mark(node.id), onblur: () => mark(null),
      onpointerenter: () => mark(node.id), onpointerleave: () => mark(null), style: {left: `${x}px`, top: `${y}px`},
    }, h('span.cut', node.label))
  })
  const sheet = h('div.sheet', {style: {width: `${width}px`, height: `${height}px`}}, lines, boxes)
  return h('div.col', h('div.graph', {role: 'group', 'aria-label': label}, sheet),
    shown.left > 0 && h('p.quiet', `${shown.left} nodes with fewer connections are hidden. Choose a node to see its own.`))
}
