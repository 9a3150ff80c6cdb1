// Builds a form from a JSON Schema. A field is {node, value(), set(value), show(problems, path, all), focus()}: its value is
// undefined where it is omitted, and it shows schema violations while the user types. A value that a field cannot
// display is kept until the field is edited, so that form and JSON never lose each other's data.
import {h, put} from './dom.js'
import {editor, pretty} from './jsonview.js'
import {check, isObject, resolve, under} from './schema.js'

const DEEPEST = 10
const MOST_ITEMS = 200
const MOST_OPTIONS = 1000
// Schemas may expand without end: these limit what is followed for one field, created at once, and shown at once.
const MOST_PARTS = 100
const MOST_MADE = 400
const MOST_STARTED = 5000
const PAGE = 100
const LONG = 300
const INPUTS = {date: 'date', time: 'time', email: 'email', uri: 'url'}
const HINTS = {'date-time': '2026-01-31T12:30:00Z', uri: 'https://', uuid: '00000000-0000-0000-0000-000000000000'}
let ids = 0

/**
 * {node, value(), set(value), errors(), reveal(), focus(path)}; `onChange` gets the value after each edit. Without a value
 * it starts with the schema's defaults.
 */
export function makeForm(schema, value, onChange) {
  const form = {root: schema, changed: () => {}, made: 0, unread: new Map()}
  const field = fieldOf(form, {schema: isObject(schema) ? schema : {}, name: '', required: true, depth: 0})
  const node = h('div.form', field.node)
  let all = false
  const unread = () => [...form.unread].filter(([one]) => node.contains(one)).map(([, problem]) => problem)
  // The value to validate: the one that was set, and after the first edit the one from the fields.
  let now = value
  const errors = () => [...check(schema, now), ...unread()]
  const judge = () => field.show(errors(), '', all)
  field.set(value === undefined ? startOf(schema) ?? {} : value)
  now ??= field.value()
  judge()
  form.changed = () => {
    now = field.value()
    judge()
    onChange?.(now)
  }
  return {
    node, errors, value: field.value,
    set(next) {
      field.set(next)
      now = next
      judge()
    },
    // Also shows problems of untouched fields from now on, and focuses the first one.
    reveal() {
      all = true
      judge()
      node.querySelector('[aria-invalid="true"]')?.focus()
    },
    // Focuses the field of a path, or the nearest enclosing one.
    focus(path = '') {
      const places = [...node.querySelectorAll('[data-path]')].filter(({dataset}) => isWithin(path, dataset.path))
      const nearest = places.sort((a, b) => b.dataset.path.length - a.dataset.path.length)[0]
      ;(nearest?.matches('input, select, textarea') ? nearest : nearest?.querySelector('input, select, textarea, button'))?.focus()
    },
  }
}

const isWithin = (path, outer) => path === outer || path.startsWith(`${outer}/`)

/** The initial value of a form: defaults and single-value choices; undefined where the schema has none. */
export function startOf(schema, root = schema, required = true, depth = 0, budget = {left: MOST_STARTED}) {
  if ((budget.left -= 1) < 0) return undefined
  const {default: given, const: only, enum: some, properties, type, ...rest} = flat({root}, schema)
  if (given !== undefined) return given
  if (!required) return undefined
  if (only !== undefined) return only
  if (Array.isArray(some) && some.length === 1) return some[0]
  if (!(type === 'object' || (type === undefined && isObject(properties))) || depth >= DEEPEST) return undefined
  const needed = new Set(Array.isArray(rest.required) ? rest.required : [])
  const all = Object.entries(isObject(properties) ? properties : {})
  return Object.fromEntries(all.map(([key, one]) => [key, startOf(one, root, needed.has(key), depth + 1, budget)])
    .filter(([, value]) => value !== undefined))
}

// Resolves references and merges `allOf`, as far as a form needs it.
function flat(form, schema, depth = 0, budget = {left: MOST_PARTS}) {
  if (!isObject(schema) || depth > DEEPEST || (budget.left -= 1) < 0) return {}
  const {$ref, allOf, ...own} = schema
  const parts = [...($ref === undefined ? [] : [resolve(form.root, $ref)]), ...(Array.isArray(allOf) ? allOf : [])]
  return parts.map((one) => flat(form, one, depth + 1, budget)).reduce((all, one) => ({
    ...one, ...all,
    ...((one.properties || all.properties) && {properties: {...one.properties, ...all.properties}}),
    ...((one.required || all.required) && {required: [one.required ?? [], all.required ?? []].flat()}),
  }), own)
}

// Creates the input field for a schema.
function fieldOf(form, {schema: raw, ...at}) {
  const schema = flat(form, raw)
  const options = {...at, schema}
  form.made += 1
  const branches = [schema.anyOf, schema.oneOf].find(Array.isArray)?.map((one) => flat(form, one))
  if (Array.isArray(schema.enum) || 'const' in schema) return choice(form, options, schema.enum ?? [schema.const], schema.enumNames)
  if (branches?.every((one) => 'const' in one)) {
    return choice(form, options, branches.map((one) => one.const), branches.map((one) => one.title))
  }
  if (branches?.length && at.depth < DEEPEST) return union(form, options, branches)
  const types = [schema.type ?? []].flat()
  if (types.length > 1) return union(form, options, types.map((type) => ({...schema, type, title: undefined, description: undefined})))
  const type = types[0] ?? (schema.properties ? 'object' : schema.items ? 'array' : null)
  if (at.depth >= DEEPEST) return raw_(form, options)
  if (type === 'object') return objectField(form, options)
  if (type === 'array') return arrayField(form, options)
  if (type === 'boolean') return choice(form, options, [true, false])
  if (type === 'null') return choice(form, options, [null])
  return ['string', 'number', 'integer'].includes(type) ? textField(form, options, type) : raw_(form, options)
}

const text = (value) => (typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value))
const brief = (value, most = 60) => {
  const all = text(value)
  return all.length > most ? `${all.slice(0, most - 1)}…` : all
}

// A short hint about the values a schema accepts.
function hintOf(schema) {
  const {type, format, minimum, maximum, exclusiveMinimum, exclusiveMaximum, minLength, maxLength, minItems, maxItems, pattern} = schema
  const between = (least, most, unit = '') => {
    const words = least !== undefined && most !== undefined ? `${text(least)} to ${text(most)}`
      : least !== undefined ? `at least ${text(least)}` : most !== undefined ? `at most ${text(most)}` : ''
    return words && unit ? `${words} ${unit}${(most ?? least) === 1 ? '' : 's'}` : words
  }
  return [
    [type ?? []].flat().map(text).join(' or '), format && brief(format), between(minimum, maximum),
    exclusiveMinimum !== undefined && `more than ${text(exclusiveMinimum)}`,
    exclusiveMaximum !== undefined && `less than ${text(exclusiveMaximum)}`,
    between(minLength, maxLength, 'character'), between(minItems, maxItems, 'item'), pattern !== undefined && `matches ${brief(pattern)}`,
    schema.default !== undefined && `default ${brief(JSON.stringify(schema.default), 40)}`, schema.deprecated === true && 'deprecated',
  ].filter(Boolean).join(' · ')
}

// The description of a field; a long one is collapsed.
function aboutOf({title, description}, name, id) {
  const words = [text(title) === name ? '' : text(title), text(description)].filter(Boolean).join(' — ')
  if (!words) return null
  if (words.length <= LONG) return h('div.about', {id: `${id}-about`}, words)
  return h('details.about', {id: `${id}-about`}, h('summary', `${words.slice(0, 120)}…`), words)
}

// The frame of a field with one control: label, hint, description, control, and problems.
function framed(form, {schema, name, required, label, remove, inside}, input, hint = hintOf(schema)) {
  const id = `field-${(ids += 1)}`
  const problem = h('div.problem', {id: `${id}-problem`})
  const about = aboutOf(schema, name, id)
  let touched = false
  input.id = id
  if (required) input.setAttribute('aria-required', 'true')
  input.setAttribute('aria-describedby', [about && `${id}-about`, hint && `${id}-hint`, `${id}-problem`].filter(Boolean).join(' '))
  input.addEventListener('blur', () => {
    touched = true
  })
  const kind = inside ? 'sr' : required ? 'required' : ''
  const node = h('div.field', h('div.row', h('label', {for: id, class: kind}, label ?? (name || 'Value')),
    hint && h('span.hint', {id: `${id}-hint`}, hint), remove), about, input, problem)
  const show = (problems, path, all, present) => {
    const own = problems.filter((one) => isWithin(one.path, path))
    const isShown = own.length > 0 && (all || touched || present)
    input.dataset.path = path
    input.setAttribute('aria-invalid', String(isShown))
    put(problem, isShown && own.slice(0, 3).map((one) => h('div', `${one.path === path ? '' : `${one.path} `}${one.reason}`)))
  }
  return {node, show, problem}
}

// A choice among values; a value outside them is kept and shown.
function choice(form, options, values, titles = []) {
  if (values.length > MOST_OPTIONS) return raw_(form, options, `one of ${values.length} values`)
  const label = (value, at) => (typeof titles?.[at] === 'string' && titles[at] ? titles[at]
    : typeof value === 'string' && value !== '' ? value : JSON.stringify(value))
  const select = h('select', {onchange: () => form.changed()}, h('option', {value: ''}, options.required ? 'choose…' : 'not set'),
    values.map((value, at) => h('option', {value: String(at)}, brief(label(value, at), 200))))
  const {node, show} = framed(form, options, select, hintOf({...options.schema, type: options.schema.type ?? 'choice'}))
  const known = values.map((value) => JSON.stringify(value))
  let foreign
  const value = () => (select.value === '' ? undefined : select.value === 'foreign' ? foreign : values[Number(select.value)])
  return {
    node, value, focus: () => select.focus(),
    set(next) {
      const at = known.indexOf(JSON.stringify(next))
      select.querySelector('[value="foreign"]')?.remove()
      foreign = next
      if (next !== undefined && at < 0) select.append(h('option', {value: 'foreign'}, brief(JSON.stringify(next))))
      select.value = next === undefined ? '' : at < 0 ? 'foreign' : String(at)
    },
    show: (problems, path, all) => show(problems, path, all, value() !== undefined),
  }
}

// A text or a number. Numbers use text inputs, so that invalid input stays visible.
function textField(form, options, type) {
  const {schema} = options
  const kind = type === 'string' ? INPUTS[schema.format] : 'text'
  const common = {spellcheck: 'false', autocomplete: 'off', placeholder: HINTS[schema.format] ?? '', oninput: edited}
  const inputmode = {integer: 'numeric', number: 'decimal'}[type]
  const input = kind ? h('input.input', {...common, type: kind, step: kind === 'time' && '1', inputmode})
    : h('textarea.input.line', {...common, rows: 1})
  const {node, show} = framed(form, options, input)
  let foreign
  let blank = false

  function edited() {
    foreign = undefined
    blank = false
    input.placeholder = common.placeholder
    form.changed()
  }

  const value = () => {
    const typed = input.value
    if (foreign !== undefined) return foreign
    if (typed === '') return blank || (options.item && type === 'string') ? '' : undefined
    if (type === 'string') return kind === 'time' && /^\d\d:\d\d$/.test(typed) ? `${typed}:00` : typed
    return /^\s*-?\d+(\.\d+)?(e[+-]?\d+)?\s*$/i.test(typed) && Number.isFinite(Number(typed)) ? Number(typed) : typed
  }
  return {
    node, value, focus: () => input.focus(),
    set(next) {
      const fits = typeof next === 'string' || (typeof next === 'number' && type !== 'string')
      const shown = next === undefined ? '' : fits ? String(next) : null
      foreign = undefined
      input.value = shown ?? ''
      blank = next === ''
      // A value that the control would change is kept as received.
      if (shown === null || (next !== undefined && !blank && JSON.stringify(value()) !== JSON.stringify(next))) foreign = next
      if (foreign !== undefined) input.value = ''
      input.placeholder = foreign === undefined ? common.placeholder : `${brief(JSON.stringify(foreign))}: kept until you type`
    },
    show: (problems, path, all) => show(problems, path, all, value() !== undefined),
  }
}

// A value of any type, edited as JSON.
function raw_(form, options, hint) {
  const json = editor('', {label: `${options.name || 'Value'} as JSON`, onInput: edited})
  const area = json.node.querySelector('textarea')
  area.rows = 2
  const about = hint ?? (hintOf(options.schema) || 'any JSON')
  const {node, show, problem} = framed(form, options, area, about)
  area.removeAttribute('aria-label')
  problem.before(json.node)
  json.node.prepend(area)
  let last

  function edited(typed) {
    const {value, reason} = typed.trim() ? json.read() : {}
    if (reason) form.unread.set(node, {path: area.dataset.path ?? '', reason: `is not valid JSON: ${reason}`})
    else {
      form.unread.delete(node)
      last = value
    }
    form.changed()
  }
  return {
    node, value: () => last, focus: () => area.focus(),
    set(next) {
      form.unread.delete(node)
      last = next
      json.set(next === undefined ? '' : pretty(next))
    },
    show: (problems, path, all) => show(problems.filter((one) => !one.reason.startsWith('is not valid JSON')), path, all, last !== undefined),
  }
}

// The label of a union's branch.
function branchName(schema, at) {
  const {title, type, $ref, format} = schema
  if (title !== undefined) return brief(title, 40)
  if ('const' in schema) return brief(JSON.stringify(schema.const), 40)
  if (Array.isArray(schema.enum)) return `one of ${brief(schema.enum.map(text).join(', '), 40)}`
  const inner = isObject(schema.properties) ? Object.entries(schema.properties) : []
  // Unions of objects usually differ by one constant.
  const [key, sign] = inner.find(([, one]) => isObject(one) && 'const' in one) ?? []
  if (key) return `${key}: ${brief(JSON.stringify(sign.const), 30)}`
  if (inner.length) return `object with ${brief(inner.map(([name]) => name).join(', '), 40)}`
  const named = [[type ?? []].flat().map(text).join(' or '), format && brief(format, 20)].filter(Boolean).join(' ')
  return named || brief($ref ?? '', 40) || `choice ${at + 1}`
}

// One of several types of value: a choice of the type, and its field.
function union(form, options, branches) {
  const {schema, depth} = options
  const {anyOf, oneOf, type, default: given, title, description, ...common} = schema
  const kinds = branches.slice(0, MOST_OPTIONS).map((one) => {
    const {default: own, ...rest} = defined(one)
    return {...common, ...(anyOf || oneOf ? defined({type}) : {}), ...rest, ...(own !== given && {default: own})}
  })
  const select = h('select.kind', {'aria-label': `Type of ${options.name || 'value'}`, onchange: () => change(Number(select.value))},
    kinds.map((one, at) => h('option', {value: String(at)}, branchName(one, at))))
  const place = h('div.branch')
  const id = `field-${(ids += 1)}`
  const called = options.label ?? (options.name || 'Value')
  const node = h('div.union', {role: 'group', 'aria-label': `Types of ${called}`},
    h('div.row', h('span.name', {class: options.required ? 'required' : ''}, called), select, h('span.hint', hintOf({default: given})),
      options.remove), aboutOf({title, description}, options.name, id), place)
  let at = 0
  let field = null

  function choose(next) {
    at = next
    select.value = String(next)
    field = fieldOf(form, {...options, remove: undefined, inside: true, schema: kinds[at], depth: depth + 1})
    put(place, field.node)
  }

  function change(next) {
    const before = field.value()
    choose(next)
    const fits = before !== undefined && !check(kinds[next], before, form.root).length
    field.set(fits ? before : startOf(kinds[next], form.root))
    form.changed()
    select.focus()
  }

  function wanted(value) {
    if (value === undefined) return at
    const fitting = kinds.findIndex((one) => !check(one, value, form.root).length)
    if (fitting >= 0) return fitting
    const alike = kinds.findIndex((one) => isAlike(one, value))
    return alike < 0 ? at : alike
  }
  return {
    node, value: () => field.value(), focus: () => field.focus(),
    set(value) {
      const next = wanted(value)
      if (!field || next !== at) choose(next)
      field.set(value === undefined && options.required ? startOf(kinds[at], form.root) : value)
    },
    show: (problems, path, all) => field.show(problems, path, all),
  }
}

const defined = (object) => Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined))

function isAlike({type, properties}, value) {
  const kind = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value
  if (isObject(value) && isObject(properties)) return Object.keys(value).some((key) => Object.hasOwn(properties, key))
  return [type].flat().some((one) => one === kind || (one === 'integer' && kind === 'number'))
}

// The frame of an object or a list: a group with its name, its own problems, and buttons.
function grouped({schema, name, required, label, depth, remove, inside}, parts, ...buttons) {
  const id = `field-${(ids += 1)}`
  const problem = h('div.problem')
  const about = depth > 0 && aboutOf(schema, name, id)
  const hint = depth > 0 && hintOf({...schema, default: undefined})
  const role = depth > 0 && !inside && {role: 'group', 'aria-labelledby': id}
  const node = h('div.group', {...role, class: depth > 0 ? 'framed' : ''},
    depth > 0 && h('div.row', h('span.name', {id, class: inside ? 'sr' : required ? 'required' : ''}, label ?? (name || 'Value')),
      h('span.hint', hint), buttons, remove), about, parts, problem)
  const show = (problems, path, all, present) => {
    const own = problems.filter((one) => one.path === path)
    node.dataset.path = path
    put(problem, (all || present) && own.slice(0, 3).map((one) => h('div', one.reason)))
  }
  return {node, show}
}

function objectField(form, options) {
  const {schema, required, depth} = options
  const fields = h('div.fields')
  const more = h('button.small', {type: 'button', onclick: () => showMore()})
  const extras = extraFields(form, options)
  const toggle = h('button.small', {type: 'button', onclick: () => {
    set(given ? undefined : startOf(schema, form.root) ?? {})
    form.changed()
    if (given) made.values().next().value?.focus()
  }})
  const needed = new Set(Array.isArray(schema.required) ? schema.required : [])
  const properties = new Map(Object.entries(isObject(schema.properties) ? schema.properties : {}))
  // Required fields first, so that they are visible.
  const names = [...properties.keys()].sort((a, b) => needed.has(b) - needed.has(a))
  const {node, show} = grouped(options, [fields, more, extras.node], toggle)
  const made = new Map()
  let given = false
  let foreign

  function make(key) {
    if (made.has(key)) return made.get(key)
    const field = fieldOf(form, {schema: properties.get(key), name: key, required: needed.has(key), depth: depth + 1})
    field.set(undefined)
    made.set(key, field)
    fields.append(field.node)
    return field
  }

  function showMore() {
    for (const key of names.filter((one) => !made.has(one)).slice(0, PAGE)) make(key)
    draw()
  }

  function draw() {
    const waiting = properties.size - made.size
    for (const part of [fields, extras.node]) part.hidden = !given
    more.hidden = !given || !waiting
    put(more, `Show ${Math.min(PAGE, waiting)} more of ${waiting} fields`)
    toggle.hidden = given && (depth === 0 || required || options.item)
    put(toggle, given ? 'Remove' : 'Add')
    toggle.setAttribute('aria-label', `${given ? 'Remove' : 'Add'} ${options.label ?? (options.name || 'value')}`)
  }

  function open(next) {
    given = next
    foreign = undefined
    if (given && !made.size) showMore()
    draw()
  }

  function set(value) {
    open(isObject(value) || depth === 0 || (value === undefined && required && form.made < MOST_MADE))
    if (depth > 0 && value !== undefined && !isObject(value)) foreign = value
    const at = isObject(value) ? value : {}
    for (const [key, one] of Object.entries(at)) if (one !== undefined && properties.has(key)) make(key)
    draw()
    for (const [key, field] of made) field.set(Object.hasOwn(at, key) ? at[key] : undefined)
    extras.set(Object.entries(at).filter(([key]) => !properties.has(key)))
  }

  return {
    node, focus: () => (made.values().next().value?.focus ?? (() => toggle.focus()))(),
    value() {
      if (foreign !== undefined || !given) return foreign
      const all = [...[...made].map(([key, field]) => [key, field.value()]), ...extras.value()]
      return Object.fromEntries(all.filter(([, one]) => one !== undefined))
    },
    set,
    show(problems, path, all) {
      show(problems, path, all, given || foreign !== undefined)
      if (given) for (const [key, field] of made) field.show(problems, under(path, key), all)
      extras.show(problems, path, all)
    },
  }
}

// Fields that the schema does not define: those of the value, and a way to add one.
function extraFields(form, {schema, depth}) {
  const inner = isObject(schema.additionalProperties) ? schema.additionalProperties : {}
  // An object without defined fields accepts any; elsewhere the schema must allow extra fields.
  const free = isObject(schema.additionalProperties) || schema.additionalProperties === true ||
    (schema.additionalProperties !== false && depth > 0 && !isObject(schema.properties))
  const rows = h('div.fields')
  const name = h('input.input', {
    type: 'text', 'aria-label': 'New field name', placeholder: 'name', autocomplete: 'off', spellcheck: 'false',
    onkeydown: (event) => {
      if (event.key !== 'Enter' || event.ctrlKey || event.metaKey) return
      event.preventDefault()
      add()
    },
  })
  const node = h('div.extras', rows, free && h('div.row', name, h('button.small', {type: 'button', onclick: add}, 'Add a field')))
  const made = new Map()

  function make(key) {
    const remove = h('button.small.ghost', {type: 'button', 'aria-label': `Remove ${key}`, onclick: () => {
      field.node.remove()
      made.delete(key)
      form.changed()
    }}, '✕')
    const field = fieldOf(form, {schema: inner, name: key, required: false, depth: depth + 1, remove, item: true})
    made.set(key, field)
    rows.append(field.node)
    return field
  }

  function add() {
    const key = name.value
    if (!key || made.has(key)) return name.focus()
    name.value = ''
    const field = make(key)
    field.set(startOf(inner, form.root))
    form.changed()
    field.focus()
  }
  return {
    node, value: () => [...made].map(([key, field]) => [key, field.value()]),
    set(entries) {
      const wanted = new Map(entries)
      for (const [key, field] of made) {
        if (wanted.has(key)) continue
        field.node.remove()
        made.delete(key)
      }
      for (const [key, value] of entries.slice(0, MOST_ITEMS)) (made.get(key) ?? make(key)).set(value)
    },
    show: (problems, path, all) => made.forEach((field, key) => field.show(problems, under(path, key), all)),
  }
}

function arrayField(form, options) {
  const {schema, required, depth, name} = options
  const tuple = [schema.prefixItems, schema.items].find(Array.isArray) ?? []
  const rest = Array.isArray(schema.items) ? schema.additionalItems : schema.items
  const list = h('div.fields.items')
  const state = h('span.hint')
  const add = h('button.small', {type: 'button', 'aria-label': `Add to ${name || 'list'}`, onclick: () => {
    const field = make()
    field.set(startOf(schemaOf(items.length - 1), form.root))
    edited()
    field.focus()
  }}, 'Add')
  const {node, show} = grouped({...options, schema: {...schema, type: 'array'}}, [list], state, add)
  const items = []
  // Lists too long for a form, and values that are not lists, are edited as JSON.
  let whole = null
  let given = false

  const schemaOf = (at) => (at < tuple.length ? tuple[at] : isObject(rest) ? rest : {})

  function make() {
    const remove = h('button.small.ghost', {type: 'button', onclick: () => {
      const left = items.filter((one) => one !== field).map((one) => one.value() ?? null)
      set(left.length || required ? left : undefined)
      edited()
      add.focus()
    }}, '✕')
    const at = items.length
    const label = `${name || 'Item'} ${at + 1}`
    const field = fieldOf(form, {schema: schemaOf(at), name, label, required: false, depth: depth + 1, remove, item: true})
    remove.setAttribute('aria-label', `Remove ${name || 'item'} ${at + 1}`)
    items.push(field)
    list.append(field.node)
    given = true
    return field
  }

  function edited() {
    draw()
    form.changed()
  }

  function draw() {
    add.disabled = Boolean(whole) || items.length >= MOST_ITEMS
    put(state, items.length || whole ? '' : given || required ? 'empty' : 'not set')
  }

  function clear() {
    for (const field of items.splice(0)) field.node.remove()
    whole?.node.remove()
    whole = null
  }

  function set(value) {
    const fits = value === undefined || (Array.isArray(value) && value.length <= MOST_ITEMS)
    if (whole || !fits || (value?.length ?? 0) < items.length) clear()
    given = Array.isArray(value)
    if (fits) (value ?? []).forEach((one, at) => (items[at] ?? make()).set(one))
    else {
      whole = raw_(form, {...options, schema: {}, label: `${name || 'List'} as JSON`, remove: undefined})
      whole.set(value)
      list.append(whole.node)
    }
    draw()
  }

  return {
    node, focus: () => (items[0]?.focus ?? (() => add.focus()))(),
    value: () => (whole ? whole.value() : items.length || given || required ? items.map((field) => field.value() ?? null) : undefined),
    set,
    show(problems, path, all) {
      show(problems, path, all, given || Boolean(whole))
      whole?.show(problems, path, all)
      items.forEach((field, at) => field.show(problems, under(path, at), all))
    },
  }
}
