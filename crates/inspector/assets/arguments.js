// The arguments of a tool: a form and JSON kept in sync, and their schema violations. Edits
// survive a reload.
import {h, put} from './dom.js'
import {makeForm, startOf} from './form.js'
import {editor, pretty} from './jsonview.js'
import {isObject} from './schema.js'

const MODES = {form: 'Form', json: 'JSON', both: 'Both'}
const PAUSE = 250
const SHOWN = 20

const counted = (count) => `${count} ${count === 1 ? 'problem' : 'problems'}`

export class Arguments {
  /** Schema violations of the arguments: [{path, reason, line?}]. */
  problems = []
  #timer = 0
  #mode = 'form'

  constructor({store}, tool, onChange) {
    const schema = tool.inputSchema
    Object.assign(this, {store, schema, key: `args:${tool.name}`, onChange})
    this.json = editor('', {label: 'Arguments as JSON', onInput: () => this.#typed()})
    this.form = makeForm(schema, undefined, (value) => {
      this.json.set(pretty(value))
      this.#changed()
    })
    this.begin = pretty(this.form.value())
    this.stale = h('p.warn', {hidden: true}, 'The JSON is invalid. The form shows its last valid state.')
    this.validation = h('div.checked', {role: 'status', 'aria-label': 'Validation'})
    this.sides = h('div.sides', h('div.form-side', this.stale, this.form.node), h('div.json-side', this.json.node))
    this.modes = Object.entries(MODES).map(([mode, title]) =>
      h('button.small', {type: 'button', 'data-mode': mode, onclick: () => this.#choose(mode)}, title))
    this.node = h('section.arguments-of', {'aria-label': 'Arguments'},
      h('div.row.wrap', h('h3.grow', 'Arguments'), h('div.row', {role: 'group', 'aria-label': 'Edit as'}, this.modes),
        h('button.small', {type: 'button', title: 'Reset to the schema\'s defaults', onclick: () => this.reset()}, 'Reset')),
      this.#takesNone() && h('p.quiet', 'This tool takes no arguments.'), this.sides, this.validation)
    this.leave = () => this.#timer && this.#keep()
    addEventListener('pagehide', this.leave)
    this.#choose(store.get('arguments-as', 'form'))
    this.#resume(store.get(this.key))
  }

  #takesNone() {
    const {schema} = this
    const names = isObject(schema?.properties) ? Object.keys(schema.properties) : []
    return isObject(schema) && !names.length && !['anyOf', 'oneOf', 'allOf', '$ref', 'additionalProperties'].some((key) => schema[key])
  }

  // Restores unfinished edits, including invalid JSON.
  #resume(kept) {
    this.json.set(typeof kept === 'string' ? kept : this.begin)
    const {value, reason} = this.read()
    if (typeof kept === 'string' && !reason) this.form.set(value)
    this.#judge()
  }

  /** {value}, or {reason, line} if the JSON is invalid. */
  read() {
    return this.json.text().trim() === '' ? {value: {}} : this.json.read()
  }

  set(args) {
    this.json.set(pretty(args))
    this.form.set(args)
    this.#changed()
  }

  reset() {
    this.set(startOf(this.schema) ?? {})
  }

  // Shows every problem and focuses the first.
  reveal() {
    const [first] = this.problems
    if (first && (this.#mode === 'json' || first.line)) this.#goTo(first)
    else this.form.reveal()
  }

  end() {
    this.leave()
    removeEventListener('pagehide', this.leave)
  }

  #choose(mode) {
    this.#mode = Object.hasOwn(MODES, mode) ? mode : 'form'
    this.store.set('arguments-as', this.#mode)
    this.sides.dataset.mode = this.#mode
    for (const button of this.modes) button.setAttribute('aria-pressed', String(button.dataset.mode === this.#mode))
  }

  #typed() {
    const {value, reason} = this.read()
    if (!reason) this.form.set(value)
    this.#changed()
  }

  #changed() {
    this.#judge()
    this.#timer ||= setTimeout(() => this.#keep(), PAUSE)
    this.onChange()
  }

  #judge() {
    const {reason, line} = this.read()
    this.stale.hidden = !reason
    this.problems = reason ? [{path: '', reason: `Line ${line}: ${reason}`, line}] : this.form.errors()
    const {length} = this.problems
    const entry = (one) => h('li', h('button.small.ghost', {type: 'button', onclick: () => this.#goTo(one)},
      h('code', one.path || (one.line ? 'JSON' : 'arguments')), ' ', one.reason))
    put(this.validation, length ? [h('div', counted(length)), h('ul.problems', this.problems.slice(0, SHOWN).map(entry)),
      length > SHOWN && h('div.quiet', `and ${length - SHOWN} more`)] : h('span.ok', '✓ Matches the schema'))
    this.validation.classList.toggle('warn', length > 0)
  }

  #goTo({path, line}) {
    if (line && this.#mode === 'form') this.#choose('json')
    if (line || this.#mode === 'json') this.json.mark(line ?? path)
    else this.form.focus(path)
  }

  #keep() {
    clearTimeout(this.#timer)
    this.#timer = 0
    this.store.set(this.key, this.json.text() === this.begin ? null : this.json.text())
  }
}
