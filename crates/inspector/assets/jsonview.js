// Shows JSON as a collapsible tree, and edits it as text with line numbers of errors. The tree creates nodes only for
// open branches, a hundred at a time.
import {h, put} from './dom.js'
import {isObject, under} from './schema.js'

const PAGE = 100
const FOLDED = 300
const DEEPEST = 400
const LONGEST = 1_000_000
let editors = 0

/** A value as a tree; `open` is the number of levels expanded at first. */
export function tree(value, {open = 1} = {}) {
  return h('div.tree', branch(null, value, open))
}

function branch(name, value, open) {
  const label = name !== null && [h('span.key', name), ': ']
  if (value === null || typeof value !== 'object') return h('div.leaf', label, leaf(value))
  const all = Array.isArray(value) ? [...value.entries()] : Object.entries(value)
  const [start, end] = Array.isArray(value) ? '[]' : '{}'
  if (!all.length) return h('div.leaf', label, start, end)
  const inner = h('div.inner')
  const summary = h('summary', label, `${start}${all.length}${end}`, ' ', h('span.quiet', glance(value)))
  const node = h('details', summary, inner)
  const fill = () => {
    if (node.open && !inner.firstChild) more(inner, all, 0, Math.max(0, open - 1))
  }
  node.addEventListener('toggle', fill)
  summary.addEventListener('keydown', ({key}) => {
    if (key === 'ArrowRight' || key === 'ArrowLeft') node.open = key === 'ArrowRight'
  })
  if (open > 0) {
    node.open = true
    fill()
  }
  return node
}

function more(inner, all, from, open) {
  const next = Math.min(all.length, from + PAGE)
  inner.append(...all.slice(from, next).map(([key, one]) => branch(String(key), one, open)))
  if (next === all.length) return
  const button = h('button.small', {type: 'button', onclick: () => {
    button.remove()
    more(inner, all, next, 0)
  }}, `Show ${Math.min(PAGE, all.length - next)} more of ${all.length - next}`)
  inner.append(button)
}

const brief = (value) => {
  if (value !== null && typeof value === 'object') return Array.isArray(value) ? '[…]' : '{…}'
  const text = JSON.stringify(value) ?? ''
  return text.length > 24 ? `${text.slice(0, 22)}…` : text
}

function glance(value) {
  if (Array.isArray(value)) return value.slice(0, 4).map(brief).join(', ')
  return Object.keys(value).slice(0, 4).map((key) => `${key.slice(0, 40)}: ${brief(value[key])}`).join(', ')
}

function leaf(value) {
  const kind = value === null ? 'null' : typeof value
  const text = JSON.stringify(value) ?? String(value)
  if (text.length <= FOLDED) return h(`span.${kind}`, text)
  const shown = h(`span.${kind}`, `${text.slice(0, FOLDED)}…`)
  const button = h('button.small', {type: 'button', 'aria-expanded': 'false', onclick: () => {
    const open = button.getAttribute('aria-expanded') === 'false'
    put(shown, open ? text : `${text.slice(0, FOLDED)}…`)
    button.setAttribute('aria-expanded', String(open))
    put(button, open ? 'Less' : `All ${text.length} characters`)
  }}, `All ${text.length} characters`)
  return [shown, ' ', button]
}

/** Parses a text: {value, lines: Map(path to line)} or {line, reason}; lines count from 1. */
export function readJson(text) {
  const scan = {text, at: 0, lines: new Map()}
  try {
    const value = JSON.parse(text)
    if (text.length < LONGEST) walk(scan, '', 0)
    return {value, lines: scan.lines}
  } catch {
    try {
      walk(scan, '', 0)
      skip(scan)
      if (scan.at < text.length) fail(scan, 'Unexpected text after the end.')
    } catch (error) {
      return {line: lineAt(text, scan.at), reason: error.message}
    }
    return {line: lineAt(text, scan.at), reason: 'Not valid JSON.'}
  }
}

const lineAt = (text, at) => text.slice(0, at).split('\n').length
const SPACE = /[ \t\r\n]*/y
const TEXT = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-f]{4}))*"/iy
const WORD = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?|true|false|null/iy

const fail = (scan, reason) => {
  throw new SyntaxError(scan.at >= scan.text.length ? `Unexpected end of text. ${reason}` : reason)
}

function take(scan, expression) {
  expression.lastIndex = scan.at
  const hit = expression.exec(scan.text)?.[0] ?? ''
  scan.at += hit.length
  return hit
}
const skip = (scan) => take(scan, SPACE)

// Walks a value as JSON.parse does, to find its position or its first error.
function walk(scan, path, depth) {
  skip(scan)
  scan.lines.set(path, scan.at)
  const start = scan.text[scan.at]
  if (start !== '{' && start !== '[') {
    if (!take(scan, start === '"' ? TEXT : WORD)) fail(scan, start === '"' ? 'A string is not closed, or has an invalid character.' : 'Missing value.')
    return
  }
  if (depth > DEEPEST) fail(scan, 'Nested too deep.')
  const end = start === '{' ? '}' : ']'
  scan.at += 1
  skip(scan)
  for (let index = 0; scan.text[scan.at] !== end; index += 1) {
    if (index > 0 && scan.text[scan.at] !== ',') fail(scan, `Missing comma or ${end}.`)
    if (index > 0) scan.at += 1
    let key = index
    if (start === '{') {
      skip(scan)
      const name = take(scan, TEXT)
      if (!name) fail(scan, 'Missing name in double quotes.')
      key = JSON.parse(name)
      skip(scan)
      if (scan.text[scan.at] !== ':') fail(scan, 'Missing colon.')
      scan.at += 1
    }
    walk(scan, under(path, key), depth + 1)
    skip(scan)
  }
  scan.at += 1
}

/** A field for JSON: {node, text(), set(text), read(), mark(path or line)}. */
export function editor(text, {onInput, label = 'JSON'} = {}) {
  const id = `editor-${(editors += 1)}`
  const area = h('textarea.input.editor', {spellcheck: 'false', autocomplete: 'off', 'aria-label': label, 'aria-describedby': id, rows: 6})
  const problem = h('div.problem', {id, 'aria-live': 'polite'})
  const read = () => readJson(area.value)
  const judge = () => {
    const {line, reason} = area.value.trim() ? read() : {}
    area.setAttribute('aria-invalid', String(Boolean(reason)))
    put(problem, reason && h('button.small.ghost.bad', {type: 'button', onclick: () => mark(line)}, `Line ${line}: ${reason}`))
  }
  const set = (next) => {
    area.value = next
    judge()
  }
  const mark = (place) => {
    const {lines} = typeof place === 'string' ? read() : {}
    const lineStarts = area.value.split('\n')
    const line = lines ? lineAt(area.value, lines.get(nearest(lines, place)) ?? 0) : place
    const start = lineStarts.slice(0, line - 1).join('\n').length + (line > 1 ? 1 : 0)
    area.focus()
    area.setSelectionRange(start, start + (lineStarts[line - 1]?.length ?? 0))
  }
  area.addEventListener('input', () => {
    judge()
    onInput?.(area.value)
  })
  set(text)
  return {node: h('div.col.tight', area, problem), text: () => area.value, set, read, mark}
}

// A missing value has no line, so the line of its parent is used.
function nearest(lines, path) {
  let at = path
  while (at && !lines.has(at)) at = at.slice(0, at.lastIndexOf('/'))
  return at
}

export const pretty = (value) => JSON.stringify(value, null, 2) ?? ''
export const isJson = (value) => isObject(value) || Array.isArray(value)
