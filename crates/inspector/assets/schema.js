// Validates a value against a JSON Schema (2020-12 or draft-07). Schemas come from servers, so every
// step is counted: an endlessly expanding schema or a backtracking pattern ends with a reason and never hangs.

const MOST_STEPS = 200_000
const MOST_DEPTH = 200
const MOST_REASONS = 200
const LONGEST_PATTERN = 500
const LONGEST_INPUT = 10_000

class Stop extends Error {
  constructor(path, reason) {
    super(reason)
    this.path = path
  }
}

/** Problems of a value: [{path: '/a/0', reason}], empty if it is valid. References resolve within `root`. */
export function check(schema, value, root = schema) {
  const run = {root, steps: MOST_STEPS}
  try {
    return visit(run, schema, value, '', 0).slice(0, MOST_REASONS)
  } catch (stop) {
    if (!(stop instanceof Stop)) throw stop
    return [{path: stop.path, reason: stop.message}]
  }
}

export const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)
export const under = (path, key) => `${path}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`
const list = (value) => (Array.isArray(value) ? value : [])
const entries = (value) => (isObject(value) ? Object.entries(value) : [])
const has = (object, key) => Object.hasOwn(object, key)

/** Resolves a local `$ref` within `root`; undefined if there is no target. */
export function resolve(root, reference) {
  if (typeof reference !== 'string' || reference[0] !== '#') return undefined
  if (reference === '#') return root
  if (reference[1] !== '/') {
    const named = ([, one]) => isObject(one) && one.$anchor === reference.slice(1)
    return [...entries(root?.$defs), ...entries(root?.definitions)].find(named)?.[1]
  }
  let at = root
  for (const part of reference.slice(2).split('/')) {
    let key = part
    try {
      key = decodeURIComponent(part)
    } catch {
      // A stray percent sign is literal.
    }
    key = key.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof at !== 'object' || at === null || !has(at, key)) return undefined
    at = at[key]
  }
  return at
}

function spend(run, path, steps) {
  run.steps -= steps
  if (run.steps < 0) throw new Stop(path, 'is not fully checked: the schema expands too far.')
}

function visit(run, schema, value, path, depth) {
  if (schema === true || schema === undefined) return []
  if (schema === false) return [{path, reason: 'is not allowed here.'}]
  if (!isObject(schema)) return [{path, reason: 'has an invalid schema.'}]
  spend(run, path, 1)
  if (depth > MOST_DEPTH) throw new Stop(path, 'is not fully checked: the schema nests too deep or refers to itself.')
  const problems = []
  const at = {
    run, schema, value, path,
    report: (reason, where = path) => problems.push({path: where, reason}),
    go: (inner, what = value, where = path) => visit(run, inner, what, where, depth + 1),
    add: (more) => more.forEach((one) => problems.push(one)),
  }
  if (schema.$ref !== undefined) reference(at)
  simple(at)
  if (typeof value === 'number') number(at)
  else if (typeof value === 'string') string(at)
  else if (Array.isArray(value)) array(at)
  else if (isObject(value)) object(at)
  combined(at)
  return problems
}

function reference({run, schema, report, go, add}) {
  const target = resolve(run.root, schema.$ref)
  if (target === undefined) report(`refers to a missing schema: ${short(schema.$ref)}.`)
  else add(go(target))
}

export function typeOf(value) {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value
}

const fits = (value, type) => typeOf(value) === type || (type === 'integer' && Number.isInteger(value))
const article = (word) => (word === 'null' ? word : `${/^[aio]/.test(word) ? 'an' : 'a'} ${word}`)
const plural = (count, word) => `${count} ${word}${count === 1 ? '' : 's'}`
const short = (value) => {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > 60 ? `${text.slice(0, 57)}…` : text
}

function simple({run, schema, value, path, report}) {
  const {type} = schema
  const types = typeof type === 'string' ? [type] : list(type)
  if (types.length && !types.some((one) => fits(value, one))) {
    report(`must be ${types.map((one) => article(String(one))).join(' or ')}, not ${article(typeOf(value))}.`)
  }
  if (Array.isArray(schema.enum) && !schema.enum.some((one) => same(run, path, one, value))) {
    const shown = schema.enum.slice(0, 10).map(short).join(', ')
    report(`must be one of ${shown}${schema.enum.length > 10 ? ' …' : ''}.`)
  }
  if (has(schema, 'const') && !same(run, path, schema.const, value)) report(`must be ${short(schema.const)}.`)
}

function same(run, path, one, other) {
  if (one === other) return true
  if (typeof one !== 'object' || typeof other !== 'object') return false
  return ordered(run, path, one) === ordered(run, path, other)
}

// JSON with sorted keys, so that equal values have equal texts.
function ordered(run, path, value, depth = 0) {
  spend(run, path, 1)
  if (depth > MOST_DEPTH) throw new Stop(path, 'is nested too deep to compare.')
  const inner = (one) => ordered(run, path, one, depth + 1)
  if (Array.isArray(value)) return `[${value.map(inner).join()}]`
  if (!isObject(value)) return JSON.stringify(value)
  return `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${inner(value[key])}`).join()}}`
}

function number({schema, value, report}) {
  const {minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf} = schema
  // Draft-04 has booleans here, which compare as false.
  const is = (limit) => typeof limit === 'number'
  if (is(minimum) && value < minimum) report(`must be at least ${minimum}.`)
  if (is(maximum) && value > maximum) report(`must be at most ${maximum}.`)
  if (is(exclusiveMinimum) && value <= exclusiveMinimum) report(`must be more than ${exclusiveMinimum}.`)
  if (is(exclusiveMaximum) && value >= exclusiveMaximum) report(`must be less than ${exclusiveMaximum}.`)
  if (is(multipleOf) && multipleOf > 0) {
    const times = value / multipleOf
    // 0.3 is a multiple of 0.1, which floats alone would deny.
    if (Math.abs(times - Math.round(times)) > 1e-9 * Math.max(1, Math.abs(times))) report(`must be a multiple of ${multipleOf}.`)
  }
}

function string({run, schema, value, path, report}) {
  const {minLength, maxLength, pattern, format} = schema
  if (typeof minLength === 'number' || typeof maxLength === 'number') {
    const length = [...value].length
    if (length < minLength) report(`must have at least ${plural(minLength, 'character')}.`)
    if (length > maxLength) report(`must have at most ${plural(maxLength, 'character')}.`)
  }
  if (typeof pattern === 'string') {
    const found = matches(pattern, value, (steps) => spend(run, path, steps))
    if (found === false) report(`must match the pattern ${pattern.length > 100 ? `${pattern.slice(0, 97)}…` : pattern}`)
    if (found === 'broken') report(`has a schema with an invalid pattern: ${short(pattern)}.`)
  }
  if (typeof format === 'string' && has(FORMATS, format) && !FORMATS[format][1](value)) report(`must be ${FORMATS[format][0]}.`)
}

function array({run, schema, value, path, report, go, add}) {
  const {minItems, maxItems, uniqueItems, contains} = schema
  const tuple = list(schema.prefixItems ?? (Array.isArray(schema.items) ? schema.items : []))
  const rest = Array.isArray(schema.items) ? schema.additionalItems : schema.items
  if (value.length < minItems) report(`must have at least ${plural(minItems, 'item')}.`)
  if (value.length > maxItems) report(`must have at most ${plural(maxItems, 'item')}.`)
  value.forEach((item, index) => {
    const inner = index < tuple.length ? tuple[index] : rest
    if (inner !== undefined) add(go(inner, item, under(path, index)))
  })
  if (uniqueItems === true) {
    const seen = new Map()
    value.forEach((item, index) => {
      const text = ordered(run, path, item)
      if (seen.has(text)) report(`duplicates item ${seen.get(text)}; items must be unique.`, under(path, index))
      else seen.set(text, index)
    })
  }
  if (contains !== undefined) {
    const found = value.filter((item) => !go(contains, item).length).length
    const {minContains = 1, maxContains = Infinity} = schema
    if (found < minContains) report(`must have at least ${plural(minContains, 'item')} that match "contains".`)
    if (found > maxContains) report(`must have at most ${plural(maxContains, 'item')} that match "contains".`)
  }
}

function object({run, schema, value, path, report, go, add}) {
  const keys = Object.keys(value)
  const properties = isObject(schema.properties) ? schema.properties : {}
  if (keys.length < schema.minProperties) report(`must have at least ${plural(schema.minProperties, 'field')}.`)
  if (keys.length > schema.maxProperties) report(`must have at most ${plural(schema.maxProperties, 'field')}.`)
  for (const key of list(schema.required)) if (!has(value, key)) report('is required.', under(path, key))
  for (const key of keys) {
    const where = under(path, key)
    let known = has(properties, key)
    if (known) add(go(properties[key], value[key], where))
    for (const [pattern, inner] of entries(schema.patternProperties)) {
      const found = matches(pattern, key, (steps) => spend(run, path, steps))
      // A pattern that cannot be evaluated may match this key, so the key is not reported as unknown.
      if (found !== false) known = true
      if (found === true) add(go(inner, value[key], where))
    }
    if (!known && schema.additionalProperties === false) report('is not a field of this schema.', where)
    else if (!known) add(go(schema.additionalProperties, value[key], where))
    if (schema.propertyNames !== undefined) {
      for (const {reason} of go(schema.propertyNames, key, where)) report(`has a name that ${reason}`, where)
    }
  }
  depending(schema, value, path, report, go, add)
}

function depending(schema, value, path, report, go, add) {
  const all = [...entries(schema.dependentRequired), ...entries(schema.dependentSchemas), ...entries(schema.dependencies)]
  for (const [key, needs] of all) {
    if (!has(value, key)) continue
    if (!Array.isArray(needs)) add(go(needs))
    else for (const one of needs) if (!has(value, one)) report(`is required when ${short(key)} is present.`, under(path, one))
  }
}

function combined({schema, path, report, go, add}) {
  for (const one of list(schema.allOf)) add(go(one))
  if (Array.isArray(schema.anyOf)) {
    const tried = []
    if (!schema.anyOf.some((one) => !(tried[tried.length] = go(one)).length)) add(nearest(tried, path))
  }
  if (Array.isArray(schema.oneOf)) {
    const tried = schema.oneOf.map((one) => go(one))
    const fitting = tried.filter((problems) => !problems.length).length
    if (!fitting) add(nearest(tried, path))
    else if (fitting > 1) report(`matches ${fitting} of the alternatives; it must match exactly one.`)
  }
  if (schema.not !== undefined && !go(schema.not).length) report('is excluded by the schema.')
  if (schema.if !== undefined) add(go(go(schema.if).length ? schema.else : schema.then))
}

// If no alternative matches, reports the likely one: the one with the fewest and deepest problems.
function nearest(tried, path) {
  const meant = tried.filter((problems) => problems.every((one) => one.path !== path)).sort((a, b) => a.length - b.length)[0]
  if (meant) return meant
  const reasons = [...new Set(tried.map((problems) => problems[0]?.reason.replace(/\.$/, '')))].filter(Boolean).slice(0, 4)
  return [{path, reason: `matches none of the alternatives: ${reasons.join('; or ')}.`}]
}

const DATE = /^(\d{4})-(\d\d)-(\d\d)$/
const isDate = (text) => {
  const [, year, month, day] = DATE.exec(text) ?? []
  return month >= 1 && month <= 12 && day >= 1 && day <= new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate()
}
// Most servers mean a time without a zone, so both forms are accepted.
const isTime = (text) => /^([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?(z|[+-]([01]\d|2[0-3]):[0-5]\d)?$/i.test(text)
const isIpv4 = (text) => /^((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(?!$)|$)){4}$/.test(text)
const isHost = (text) => text.length <= 253 && text.split('.').every((label) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i.test(label))

function isIpv6(text) {
  if (text.length > 45) return false
  const halves = text.split('::')
  if (halves.length > 2) return false
  const groups = halves.flatMap((half) => (half ? half.split(':') : []))
  const last = groups.at(-1) ?? ''
  const tail = last.includes('.')
  if (tail && !isIpv4(last)) return false
  const hex = tail ? groups.slice(0, -1) : groups
  const length = hex.length + (tail ? 2 : 0)
  return hex.every((group) => /^[0-9a-f]{1,4}$/i.test(group)) && (halves.length === 2 ? length < 8 : length === 8)
}

const FORMATS = {
  date: ['a date such as 2026-01-31', isDate],
  time: ['a time such as 12:30:00', isTime],
  'date-time': ['a date and time such as 2026-01-31T12:30:00Z',
    (text) => /^[t ]$/i.test(text[10] ?? '') && isDate(text.slice(0, 10)) && isTime(text.slice(11)) && /z|[+-]\d\d:\d\d$/i.test(text)],
  email: ['an email address', (text) => text.length <= 320 && /^[^\s@<>"]+@[^\s@<>"]+$/.test(text)],
  uri: ['a URI such as https://example.com', (text) => /^[a-z][a-z0-9+.-]*:[^\s<>"{}|\\^`]*$/i.test(text)],
  uuid: ['a UUID', (text) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)],
  ipv4: ['an IPv4 address', isIpv4],
  ipv6: ['an IPv6 address', isIpv6],
  hostname: ['a host name', isHost],
}

// Patterns run as state sets, never by backtracking: `(a+)+$` costs no more than any other. Lookaround and back
// references cannot run this way and are left to the server.

const MOST_STATES = 3000
const programs = new Map()

/** Whether a pattern matches a text; null if not evaluated, 'broken' if the pattern is invalid. */
function matches(pattern, text, spend) {
  if (pattern.length > LONGEST_PATTERN || text.length > LONGEST_INPUT) return null
  if (!programs.has(pattern)) {
    if (programs.size > 200) programs.clear()
    programs.set(pattern, single(pattern) ? compile(pattern) : 'broken')
  }
  const program = programs.get(pattern)
  return Array.isArray(program) ? found(program, [...text], spend) : program
}

function single(source) {
  for (const flags of ['u', '']) {
    try {
      return new RegExp(source, flags)
    } catch {
      // Older patterns escape more than Unicode mode allows.
    }
  }
  return null
}

// The states of a pattern, the initial one last; null if there are too many or one is unsupported.
function compile(pattern) {
  const states = [{accept: true}]
  const push = (state) => {
    if (states.length >= MOST_STATES) throw new RangeError('too many states')
    return states.push(state) - 1
  }
  try {
    const start = emit(parse(pattern), 0, push, states)
    push({one: start, other: start})
    return states
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

const PART = /\\(?:u\{[\da-f]+\}|u[\da-f]{4}|x[\da-f]{2}|c[a-z]|[pP]\{[^}]*\}|[^])|\[\^?(?:\\[^]|[^\]\\])*\]|\((?:\?:|\?<(?![=!])[^>]*>|(?!\?))|[^]/iuy
const TIMES = /(?:([*+?])|\{(\d+)(,(\d*))?\})\??/y

// Choices of rows of parts; a part is {test}, {edge}, {choices} or {part, least, most}.
function parse(pattern) {
  let at = 0
  const take = (expression) => {
    expression.lastIndex = at
    const hit = expression.exec(pattern)
    if (hit) at += hit[0].length
    return hit
  }
  const choices = () => {
    const all = [[]]
    while (at < pattern.length && pattern[at] !== ')') {
      if (pattern[at] !== '|') all.at(-1).push(times(part()))
      else if (at += 1) all.push([])
    }
    return {choices: all}
  }
  const part = () => {
    const [text] = take(PART) ?? ['(?']
    if (/^(\(\?[=!<]?$|\\[1-9k])/.test(text)) throw new RangeError('is not run')
    if (text[0] === '(') {
      if (pattern[at] === '?') throw new RangeError('is not run')
      const inner = choices()
      at += 1
      return inner
    }
    if (['^', '$', '\\b', '\\B'].includes(text)) return {edge: text}
    if (text.length > 1 || text === '.') {
      const expression = single(`^${text}$`)
      return {test: (character) => expression.test(character)}
    }
    return {test: (character) => character === text}
  }
  const times = (one) => {
    const hit = take(TIMES)
    if (!hit) return one
    const [, sign, least, comma, most] = hit
    if (sign) return {part: one, least: sign === '+' ? 1 : 0, most: sign === '?' ? 1 : Infinity}
    return {part: one, least: +least, most: comma ? (most ? +most : Infinity) : +least}
  }
  return choices()
}

// Adds the states of a node before `next`; returns the first of them.
function emit(node, next, push, states) {
  const row = (parts) => parts.reduceRight((after, part) => emit(part, after, push, states), next)
  if (node.choices) return node.choices.map(row).reduce((one, other) => push({one, other}))
  if (!node.part) return push({...node, next})
  let after = next
  if (node.most === Infinity) {
    after = push({})
    states[after] = {one: emit(node.part, after, push, states), other: next}
  }
  for (let left = node.most === Infinity ? 0 : node.most - node.least; left > 0; left -= 1) {
    after = push({one: emit(node.part, after, push, states), other: next})
  }
  for (let left = node.least; left > 0; left -= 1) after = emit(node.part, after, push, states)
  return after
}

function found(states, text, spend) {
  const marks = new Int32Array(states.length).fill(-1)
  const word = (at) => at >= 0 && at < text.length && /\w/.test(text[at])
  const passes = (edge, at) => {
    if (edge === '^') return at === 0
    if (edge === '$') return at === text.length
    return (word(at - 1) !== word(at)) === (edge === '\\b')
  }
  let current = []
  for (let at = 0; at <= text.length; at += 1) {
    const open = [...current, states.length - 1]
    const tests = []
    while (open.length) {
      const index = open.pop()
      if (marks[index] === at) continue
      marks[index] = at
      const state = states[index]
      if (state.accept) return true
      if (state.test) tests.push(state)
      else if (!state.edge) open.push(state.one, state.other)
      else if (passes(state.edge, at)) open.push(state.next)
    }
    spend(tests.length / 50)
    current = tests.filter((state) => at < text.length && state.test(text[at])).map((state) => state.next)
  }
  return false
}
