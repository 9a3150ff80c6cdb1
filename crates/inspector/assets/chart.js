// Draws small charts: call latency, and the message sequence of a call. Each also has a text version.
import {svg} from './dom.js'
import {clock, ends, failed, took} from './feed.js'

/** Counts for each range of [[upper bound in seconds, count so far]…]; the last range has no bound. */
export function ranges(buckets, calls) {
  let before = 0
  const list = buckets.map(([bound, count]) => {
    const here = Math.max(0, count - before)
    before = Math.max(before, count)
    return {bound, count: here}
  })
  return calls > before ? [...list, {bound: null, count: calls - before}] : list
}

/** The upper bound below which this share of calls lies, in seconds; null if unbounded. */
export function quantile(list, share) {
  const all = list.reduce((sum, {count}) => sum + count, 0)
  let seen = 0
  for (const {bound, count} of list) {
    seen += count
    if (seen >= all * share) return bound
  }
  return null
}

const label = (bound, list) =>
  (bound === null ? `over ${took((list.at(-2)?.bound ?? 0) * 1e6)}` : `up to ${took(bound * 1e6)}`)

/** Bars for each range. */
export function histogram(name, list) {
  const [width, height, gap] = [16, 36, 3]
  const most = Math.max(1, ...list.map(({count}) => count))
  const parts = list.filter(({count}) => count).map(({bound, count}) => `${count} ${label(bound, list)}`)
  const bars = list.map(({bound, count}, at) => {
    const tall = count ? Math.max(2, (count / most) * height) : 1
    return svg('rect', {x: at * (width + gap), y: height - tall, width, height: tall, class: count ? 'bar-on' : 'bar-off'},
      svg('title', null, `${label(bound, list)}: ${count}`))
  })
  const box = `0 0 ${list.length * (width + gap)} ${height}`
  const spoken = `Latency of ${name}: ${parts.join(', ') || 'no calls'}`
  return svg('svg', {class: 'chart', viewBox: box, width: list.length * (width + gap), height, role: 'img', 'aria-label': spoken},
    bars)
}

const MOST_ARROWS = 40

/** The messages of a call as arrows between client, docent and servers. */
export function sequence(entries) {
  const shown = entries.filter((entry) => entry.direction).slice(0, MOST_ARROWS)
  const client = shown.filter((entry) => entry.hop === 'client').map((entry) => entry.peer ?? 'client')
  const servers = shown.filter((entry) => entry.hop === 'server').map((entry) => entry.peer ?? 'server')
  const lanes = [...new Set([...client, null, ...servers])].map((name) => name ?? 'docent')
  const [wide, tall, top] = [150, 30, 26]
  const x = (name) => lanes.indexOf(name) * wide + wide / 2
  const height = top + shown.length * tall + 8
  const heads = lanes.map((name) => [
    svg('text', {x: x(name), y: 14, class: 'lane-name'}, shorten(name, 20)),
    svg('line', {x1: x(name), x2: x(name), y1: 20, y2: height, class: 'lane'}),
  ])
  const spoken = shown.map((entry) => `${clock(entry.at)} ${ends(entry).join(' to ')}: ${words(entry)}`).join('; ')
  return svg('svg', {
    class: 'sequence', viewBox: `0 0 ${lanes.length * wide} ${height}`, width: lanes.length * wide, height, role: 'img',
    'aria-label': `Messages of this call: ${spoken}`,
  }, heads, shown.map((entry, at) => arrow(entry, ends(entry).map(x), top + at * tall + 18)))
}

function arrow(entry, [from, to], y) {
  const back = to < from ? 1 : -1
  const head = `${to},${y} ${to + back * 7},${y - 4} ${to + back * 7},${y + 4}`
  return svg('g', {class: failed(entry) ? 'arrow bad' : 'arrow'},
    svg('line', {x1: from, x2: to, y1: y, y2: y, class: entry.kind === 'request' ? '' : 'answer'}),
    svg('polygon', {points: head}),
    svg('text', {x: (from + to) / 2, y: y - 5}, shorten(words(entry), 24)),
    svg('title', null, words(entry)))
}

function words(entry) {
  const what = entry.kind === 'request' || entry.kind === 'notification' ? entry.method : entry.code ?? entry.kind
  const id = entry.id === null ? '' : ` #${typeof entry.id === 'string' ? entry.id : JSON.stringify(entry.id)}`
  const again = entry.attempt > 1 ? ` attempt ${entry.attempt}` : ''
  return `${what ?? entry.kind}${id}${again}${entry.micros === null ? '' : ` ${took(entry.micros)}`}`
}

const shorten = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text)
