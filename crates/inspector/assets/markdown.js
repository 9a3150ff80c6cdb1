// Renders Markdown: `parse` builds a plain tree, `markdown` turns it into nodes. HTML in the text stays text, images
// become links, and parsing never backtracks: hostile text costs no more than other text of its length.
import {h} from './dom.js'

const MOST_TEXT = 300_000
const MOST_DEPTH = 12
const LONGEST_LINK = 2000

const FENCE = /^ {0,3}(`{3,}|~{3,})([^`]*)$/
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+|$)/
const RULE = /^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$/
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])( {1,4}(?! )|\t| {5}|$)/
const QUOTE = /^ {0,3}> ?/
const blank = (line) => line.trim() === ''

/** Blocks: {type: 'heading'|'paragraph'|'code'|'quote'|'list'|'table'|'rule', …}. */
export function parse(text) {
  return blocks(text.slice(0, MOST_TEXT).replace(/\r\n?/g, '\n').split('\n'), 0)
}

function blocks(lines, depth) {
  const all = []
  const take = {at: 0, lines, depth}
  while (take.at < lines.length) {
    if (blank(lines[take.at])) take.at += 1
    else all.push(fence(take) ?? heading(take) ?? rule(take) ?? quote(take) ?? items(take) ?? indented(take) ?? table(take) ?? paragraph(take))
  }
  return all
}

function fence(take) {
  const [, mark, language] = FENCE.exec(take.lines[take.at]) ?? []
  if (!mark) return null
  const start = take.at + 1
  const ends = (line) => {
    const text = line.trim()
    return text.length >= mark.length && text === mark[0].repeat(text.length)
  }
  for (take.at = start; take.at < take.lines.length && !ends(take.lines[take.at]);) take.at += 1
  take.at += 1
  return {type: 'code', language: language.trim().split(/\s/)[0], text: take.lines.slice(start, take.at - 1).join('\n')}
}

function heading(take) {
  const [start, signs] = HEADING.exec(take.lines[take.at]) ?? []
  if (!signs) return null
  const text = take.lines[take.at].slice(start.length).trimEnd()
  take.at += 1
  let end = text.length
  while (text[end - 1] === '#') end -= 1
  return {type: 'heading', level: signs.length, children: spans(end === 0 || text[end - 1] === ' ' ? text.slice(0, end).trim() : text)}
}

function rule(take) {
  if (!isRule(take.lines[take.at])) return null
  take.at += 1
  return {type: 'rule'}
}
const isRule = (line) => line.length < 200 && RULE.test(line)

function quote(take) {
  if (take.depth >= MOST_DEPTH || !QUOTE.test(take.lines[take.at])) return null
  const inner = []
  for (; take.at < take.lines.length && QUOTE.test(take.lines[take.at]); take.at += 1) inner.push(take.lines[take.at].replace(QUOTE, ''))
  return {type: 'quote', children: blocks(inner, take.depth + 1)}
}

function items(take) {
  const first = take.depth < MOST_DEPTH && ITEM.exec(take.lines[take.at])
  if (!first) return null
  const ordered = first[2].length > 1
  const list = {type: 'list', ordered, start: ordered ? parseInt(first[2], 10) : 1, items: []}
  const sign = first[2].at(-1)
  while (take.at < take.lines.length) {
    const hit = ITEM.exec(take.lines[take.at])
    if (!hit || hit[2].at(-1) !== sign || isRule(take.lines[take.at])) break
    list.items.push(blocks(itemLines(take, hit), take.depth + 1))
  }
  return list
}

// An item continues over lines indented like its text, and over lines that continue its paragraph.
function itemLines(take, [whole]) {
  const width = /\S$/.test(whole) ? whole.length + 1 : whole.length
  const inner = [take.lines[take.at].slice(whole.length)]
  for (take.at += 1; take.at < take.lines.length; take.at += 1) {
    const line = take.lines[take.at]
    const indent = line.length - line.trimStart().length
    if (blank(line)) {
      const next = take.lines[take.at + 1]
      if (next === undefined || blank(next) || (next.length - next.trimStart().length < width && !next.startsWith('\t'))) {
        if (next === undefined || !ITEM.test(next)) break
        continue
      }
      inner.push('')
    } else if (indent >= width || line[0] === '\t') {
      inner.push(line[0] === '\t' ? line.slice(1) : line.slice(width))
    } else if (starts(line) || blank(inner.at(-1))) {
      break
    } else {
      inner.push(line)
    }
  }
  return inner
}

// Whether a line begins something other than a paragraph.
const starts = (line) => FENCE.test(line) || HEADING.test(line) || isRule(line) || QUOTE.test(line) || ITEM.test(line)

function indented(take) {
  const inner = []
  const is = (line) => line !== undefined && /^(?: {4}|\t)/.test(line) && !blank(line)
  if (!is(take.lines[take.at])) return null
  for (; is(take.lines[take.at]) || (blank(take.lines[take.at] ?? 'x') && is(take.lines[take.at + 1])); take.at += 1) {
    inner.push(take.lines[take.at].replace(/^(?: {4}|\t)/, ''))
  }
  return {type: 'code', language: '', text: inner.join('\n')}
}

function cells(line) {
  const all = []
  let cell = ''
  let code = false
  const text = line.trim()
  for (let at = text[0] === '|' ? 1 : 0; at < text.length; at += 1) {
    if (text[at] === '`') code = !code
    if (text[at] === '\\' && text[at + 1] === '|') {
      cell += '|'
      at += 1
    } else if (text[at] === '|' && !code) {
      all.push(cell.trim())
      cell = ''
    } else {
      cell += text[at]
    }
  }
  if (cell.trim()) all.push(cell.trim())
  return all
}

function table(take) {
  const [head, line] = [take.lines[take.at], take.lines[take.at + 1] ?? '']
  if (!head.includes('|') || !/^[\s|:-]+$/.test(line) || !line.includes('-')) return null
  const columns = cells(head)
  const sides = cells(line)
  if (sides.length !== columns.length || !sides.every((one) => /^:?-+:?$/.test(one))) return null
  const rows = []
  for (take.at += 2; take.at < take.lines.length && !blank(take.lines[take.at]) && !starts(take.lines[take.at]); take.at += 1) {
    rows.push(cells(take.lines[take.at]).slice(0, columns.length).map(spans))
  }
  return {type: 'table', head: columns.map(spans), rows}
}

function paragraph(take) {
  const inner = []
  for (; take.at < take.lines.length && !blank(take.lines[take.at]); take.at += 1) {
    const line = take.lines[take.at]
    if (inner.length && /^ {0,3}(=+|-+)[ \t]*$/.test(line)) {
      take.at += 1
      return {type: 'heading', level: line.includes('=') ? 1 : 2, children: spans(inner.join('\n'))}
    }
    // At the maximum depth nothing else consumes these lines.
    if (inner.length && starts(line)) break
    inner.push(line.trimStart())
  }
  return {type: 'paragraph', children: spans(inner.join('\n').trimEnd())}
}

const PLAIN = /[^\\`*_~[\]!<h]+|h(?!ttps?:\/\/)/y
const TICKS = /`+/y
const STARS = /\*{1,3}|_{1,3}|~~/y
const ADDRESS = /https?:\/\/[^\s<>"'`\\|]{1,2000}/iy
const isLetter = (character) => character !== undefined && /[\p{L}\p{N}_]/u.test(character)
const isSpace = (character) => character === undefined || /\s/.test(character)

/** Spans: {type: 'text'|'code', text}, {type: 'em'|'strong'|'both'|'del', children}, {type: 'link', href, children}. */
export function spans(text) {
  const root = {children: []}
  const state = {text, at: 0, open: [root], ends: {}, ticks: null}
  const add = (one) => {
    const {children} = state.open.at(-1)
    const last = children.at(-1)
    if (one.type === 'text' && last?.type === 'text') last.text += one.text
    else children.push(one)
  }
  const take = (expression) => {
    expression.lastIndex = state.at
    const hit = expression.exec(text)?.[0] ?? ''
    state.at += hit.length
    return hit
  }
  while (state.at < text.length) {
    const character = text[state.at]
    const done = (character === '`' && code(state, add, take)) || ('*_~'.includes(character) && stress(state, add, take)) ||
      ('![]'.includes(character) && bracket(state, add)) || ('<hH'.includes(character) && address(state, add, take))
    if (done) continue
    if (character === '\\' && /[!-/:-@[-`{-~]/.test(text[state.at + 1] ?? '')) {
      add({type: 'text', text: text[state.at + 1]})
      state.at += 2
    } else {
      add({type: 'text', text: take(PLAIN) || text[state.at++]})
    }
  }
  while (state.open.length > 1) unopen(state, add)
  return root.children
}

// An unclosed mark is text.
function unopen(state, add) {
  const {mark, children} = state.open.pop()
  add({type: 'text', text: mark})
  children.forEach(add)
}

function code(state, add, take) {
  const ticks = take(TICKS)
  // The end of each run length is indexed once, so that many unclosed openings stay cheap.
  state.ticks ??= [...state.text.matchAll(/`+/g)].reduceRight((all, {0: run, index}) => {
    if (!all.has(run.length)) all.set(run.length, [])
    all.get(run.length).push(index)
    return all
  }, new Map())
  const places = state.ticks.get(ticks.length)
  while (places?.length && places.at(-1) < state.at) places.pop()
  const end = places?.at(-1)
  if (end === undefined) {
    add({type: 'text', text: ticks})
    return true
  }
  const inner = state.text.slice(state.at, end)
  add({type: 'code', text: /^ .*[^ ].* $/s.test(inner) ? inner.slice(1, -1) : inner})
  state.at = end + ticks.length
  return true
}

const KINDS = {1: 'em', 2: 'strong', 3: 'both'}

function stress(state, add, take) {
  const before = state.text[state.at - 1]
  const mark = take(STARS)
  if (!mark) return false
  const after = state.text[state.at]
  const inWord = mark[0] === '_' && isLetter(before) && isLetter(after)
  const place = state.open.findLastIndex((one) => one.mark === mark)
  if (place > 0 && !isSpace(before) && !inWord && !(mark[0] === '_' && isLetter(after))) {
    while (state.open.length > place + 1) unopen(state, add)
    const {children} = state.open.pop()
    add({type: mark === '~~' ? 'del' : KINDS[mark.length], children})
  } else if (!isSpace(after) && !inWord && state.open.length < MOST_DEPTH) {
    state.open.push({mark, children: []})
  } else {
    add({type: 'text', text: mark})
  }
  return true
}

// Continues from the last lookup: searching again from each opening would take quadratic time.
function next(state, sign) {
  if (!(state.ends[sign] >= state.at)) state.ends[sign] = state.text.indexOf(sign, state.at)
  if (state.ends[sign] < 0) state.ends[sign] = Infinity
  return state.ends[sign]
}

function bracket(state, add) {
  const {text} = state
  const mark = text.startsWith('![', state.at) ? '![' : text[state.at]
  if (mark === '!') return false
  if (mark !== ']') {
    if (state.open.length >= MOST_DEPTH) return false
    state.at += mark.length
    state.open.push({mark, children: []})
    return true
  }
  const place = state.open.findLastIndex((one) => one.mark === '[' || one.mark === '![')
  if (place < 1) return false
  while (state.open.length > place + 1) unopen(state, add)
  state.at += 1
  const end = next(state, ')')
  if (text[state.at] !== '(' || end - state.at > LONGEST_LINK) {
    unopen(state, add)
    add({type: 'text', text: ']'})
    return true
  }
  const target = text.slice(state.at + 1, end).trim().split(/\s/)[0].replace(/^<|>$/g, '')
  const {children} = state.open.pop()
  state.at = end + 1
  if (/^https?:\/\//i.test(target)) add({type: 'link', href: target, children})
  else [...children, {type: 'text', text: ` (${target})`}].forEach(add)
  return true
}

function address(state, add, take) {
  const framed = state.text[state.at] === '<'
  if (framed) state.at += 1
  let href = take(ADDRESS)
  if (!href) {
    if (framed) state.at -= 1
    return false
  }
  if (framed && state.text[state.at] === '>') {
    state.at += 1
  } else {
    const shorter = href.replace(/[.,;:!?*_~)\]]{1,20}$/, '')
    state.at -= href.length - shorter.length
    href = shorter
    if (framed) add({type: 'text', text: '<'})
  }
  add({type: 'link', href, children: [{type: 'text', text: href}]})
  return true
}

/** Markdown as nodes. */
export function markdown(text) {
  const rest = text.length > MOST_TEXT && h('pre.code', text.slice(MOST_TEXT))
  return h('div.markdown', parse(text).map(block), rest)
}

function block(one) {
  const {type} = one
  if (type === 'heading') return h(`h${Math.min(6, one.level + 2)}`, one.children.map(span))
  if (type === 'code') return h('pre.code', {tabindex: 0, 'aria-label': `Code ${one.language}`, role: 'group'}, one.text)
  if (type === 'quote') return h('blockquote', one.children.map(block))
  if (type === 'rule') return h('hr')
  if (type === 'table') return drawTable(one)
  if (type !== 'list') return h('p', one.children.map(span))
  const entries = one.items.map((item) => h('li', item.length === 1 && item[0].type === 'paragraph' ? item[0].children.map(span) : item.map(block)))
  return one.ordered ? h('ol', {start: one.start}, entries) : h('ul', entries)
}

function drawTable({head, rows}) {
  const line = (tag, line) => h('tr', line.map((cell) => h(tag, cell.map(span))))
  return h('div.scroll', {tabindex: 0, role: 'group', 'aria-label': 'Table'},
    h('table.table', h('thead', line('th', head)), h('tbody', rows.map((row) => line('td', row)))))
}

const TAGS = {em: 'em', strong: 'strong', del: 'del'}

function span(one) {
  if (one.type === 'text') return one.text
  if (one.type === 'code') return h('code', one.text)
  if (one.type === 'both') return h('strong', h('em', one.children.map(span)))
  if (one.type !== 'link') return h(TAGS[one.type], one.children.map(span))
  const own = one.children.length === 1 && one.children[0].text === one.href
  const target = one.href.length > 80 ? `${one.href.slice(0, 77)}…` : one.href
  return [h('a', {href: one.href, title: one.href, target: '_blank', rel: 'noopener noreferrer'}, one.children.length ? one.children.map(span) : one.href),
    !own && h('span.quiet', ` (${target})`)]
}
