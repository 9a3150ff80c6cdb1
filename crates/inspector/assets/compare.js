// Shows two results side by side, line by line. Long unchanged runs are collapsed.
import {diff} from './diff.js'
import {h} from './dom.js'

const AROUND = 3
const FOLDED = 8
const PAGE = 500

const parsed = (text) => {
  try {
    const value = /^\s*[[{]/.test(text) ? JSON.parse(text) : undefined
    return value && typeof value === 'object' ? value : undefined
  } catch {
    return undefined
  }
}

/** The response to a call, as comparable lines. */
export function readable({result, error}) {
  if (error !== undefined) return `error ${JSON.stringify(error, null, 2)}`
  if (result === undefined || result === null) return ''
  const {content, ...rest} = result
  const blocks = (Array.isArray(content) ? content : content === undefined ? [] : [content]).map((block) => {
    if (typeof block?.text !== 'string') return JSON.stringify(block, null, 2)
    const value = parsed(block.text)
    return value === undefined ? block.text : JSON.stringify(value, null, 2)
  })
  return [...blocks, ...(Object.keys(rest).length ? [JSON.stringify(rest, null, 2)] : [])].join('\n')
}

/** Runs of rows: {rows, folded}; unchanged rows far from any change are collapsed. */
export function folded(rows) {
  const near = new Uint8Array(rows.length)
  rows.forEach((row, at) => {
    if (row.kind !== 'same') near.fill(1, Math.max(0, at - AROUND), at + AROUND + 1)
  })
  const runs = []
  for (let at = 0; at < rows.length;) {
    let end = at
    while (end < rows.length && near[end] === near[at]) end += 1
    runs.push({rows: rows.slice(at, end), folded: !near[at] && end - at > FOLDED})
    at = end
  }
  return runs
}

const SIGNS = {same: ' ', changed: '~', gone: '−', new: '+'}
const SPOKEN = {same: '', changed: 'changed', gone: 'only left', new: 'only right'}

function line({kind, left, right}) {
  const cell = (side, one) => [h('td.number', one && String(one[0])), h(`td.text.${side}`, one ? one[1] : '')]
  return h('tr', {class: kind}, h('td.sign', h('span', {'aria-hidden': 'true'}, SIGNS[kind]), h('span.sr', SPOKEN[kind])),
    cell('left', left), cell('right', right))
}

/** Two calls side by side; `name` gives the label of a call. */
export function compare(left, right, name) {
  const {rows, cut} = diff(readable(left), readable(right))
  const changes = rows.filter(({kind}) => kind !== 'same').length
  const body = h('tbody')
  const waiting = folded(rows)
  const more = h('button.small', {type: 'button', onclick: draw}, 'Show more')

  function draw() {
    for (let room = PAGE; room > 0 && waiting.length; room -= PAGE / 10) {
      const {rows: some, folded: hidden} = waiting.shift()
      if (hidden) body.append(fold(some))
      else {
        body.append(...some.slice(0, PAGE).map(line))
        if (some.length > PAGE) waiting.unshift({rows: some.slice(PAGE), folded: false})
        room -= some.length
      }
    }
    more.hidden = !waiting.length
  }

  function fold(some) {
    const button = h('button.small.ghost', {type: 'button', onclick: () => row.replaceWith(...some.slice(0, 20 * PAGE).map(line))},
      `${some.length} unchanged lines`)
    const row = h('tr.fold', h('td', {colspan: 5}, button))
    return row
  }
  draw()
  const summary = changes ? `${changes} ${changes === 1 ? 'line differs' : 'lines differ'}.` : 'The results are identical.'
  const head = h('tr', h('th', h('span.sr', 'Change')), h('th', {colspan: 2}, name(left)), h('th', {colspan: 2}, name(right)))
  const columns = ['sign', 'number', 'text', 'number', 'text'].map((one) => h(`col.${one}`))
  return h('section.compare.col', {'aria-label': 'Comparison'},
    h('p', {role: 'status'}, summary, cut > 0 && ` ${cut} lines at the end were not compared.`),
    h('div.scroll', {tabindex: 0, role: 'group', 'aria-label': 'Lines side by side'},
      h('table', h('colgroup', columns), h('thead', head), body)), more)
}
