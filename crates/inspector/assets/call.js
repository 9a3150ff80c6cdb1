// One tool: its arguments, the running call, its result, previous calls, and snippets of the call for other programs.
import {Arguments} from './arguments.js'
import {appOf} from './apps.js'
import {compare} from './compare.js'
import {h, put} from './dom.js'
import {size} from './feed.js'
import {historyOf} from './history.js'
import {pretty, tree} from './jsonview.js'
import {McpError} from './mcp.js'
import {showFailure, showResult} from './result.js'
import {isObject} from './schema.js'
import {snippets} from './snippets.js'
import {makeTabs} from './tabs.js'
import {estimate} from './tokens.js'

const MOST_NOTES = 100
const MOST_PARTIAL = 500
const COUNTED = 1_000_000

const small = (label, onclick, more) => h('button.small', {type: 'button', onclick, ...more}, label)
const said = (value) => (typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value))
// Puts the message of a structured log line before its fields.
const sentence = (data) => {
  if (typeof data?.message !== 'string') return [data]
  const {message, ...fields} = data
  return Object.keys(fields).length ? [message, fields] : [message]
}
const spent = (ms) => (ms === null || ms === undefined ? '' : ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`)
const brief = (value) => {
  const text = JSON.stringify(value) ?? 'not stored'
  return text.length > 120 ? `${text.slice(0, 119)}…` : text
}

function when(at) {
  const date = new Date(at)
  const today = date.toDateString() === new Date().toDateString()
  return today ? date.toLocaleTimeString() : date.toLocaleString()
}

/** The outcome of a call: [label, pill class]. */
export function outcome({result, error, cancelled, left}) {
  if (cancelled) return ['cancelled', 'warn']
  if (error !== undefined) return [error.code === null || error.code === undefined ? 'no response' : `error ${said(error.code)}`, 'bad']
  if (result?.isError) return ['tool error', 'bad']
  return result === undefined && left ? ['not stored', ''] : ['ok', 'ok']
}

/** Describes a call, for lists and comparisons. */
export const called = (call) => `${when(call.at)}, ${outcome(call)[0]}${call.ms ? `, ${spent(call.ms)}` : ''}`

export class Call {
  #running = null
  #shown = null
  #chosen = new Set()

  constructor(ctx, tool) {
    Object.assign(this, {ctx, tool, store: ctx.store, history: historyOf(ctx.store)})
    this.args = new Arguments(ctx, tool, () => this.#edited())
    this.runButton = h('button.primary', {
      type: 'button', onclick: () => this.run(), 'aria-keyshortcuts': 'Control+Enter Meta+Enter',
    }, 'Run')
    this.anyway = h('button', {type: 'button', hidden: true, onclick: () => this.run({anyway: true})}, 'Send anyway')
    this.stop = h('button.danger', {type: 'button', hidden: true, onclick: () => this.cancel()}, 'Cancel')
    this.progress = h('div.progress.col', {hidden: true})
    this.tabs = makeTabs('Response', [
      {id: 'result', title: 'Result'}, {id: 'history', title: 'History', draw: () => this.#drawHistory()},
      {id: 'copy', title: 'Copy as', draw: () => this.#drawCopies()},
      {id: 'definition', title: 'Definition', draw: () => this.#drawDefinition()},
    ])
    this.node = h('div.call.col', this.args.node, h('div.toolbar.run', this.runButton, this.stop, this.anyway,
      h('span.quiet.keys', h('kbd.kbd', /Mac/.test(navigator.platform) ? '⌘' : 'Ctrl'), ' ', h('kbd.kbd', 'Enter')), h('span.grow'),
      small('Save call…', () => this.#save()),
      small('Copy link', () => this.#link(), {title: 'The URL contains this session\'s token'})),
    this.progress, this.tabs.node)
    this.tabs.choose('result')
    const [last] = this.history.calls(tool.name)
    if (last) this.show(last, true)
    else this.#nothing()
    this.#count()
  }

  get running() {
    return this.#running !== null
  }

  end() {
    this.args.end()
    this.cancel()
  }

  cancel() {
    this.#running?.abort()
  }

  #nothing() {
    put(this.tabs.panel('result'), h('div.empty', 'Not called yet. Fill in the arguments and press Run.'))
  }

  #edited() {
    this.anyway.hidden = true
    // The first change fires during construction.
    if (this.tabs?.chosen() === 'copy') this.tabs.redraw('copy')
  }

  #count() {
    const calls = this.history.calls(this.tool.name).length
    const saved = this.history.saved(this.tool.name).length
    this.tabs.rename('history', calls + saved ? `History (${calls + saved})` : 'History')
    this.tabs.redraw('history')
  }

  // Sends the arguments if they match the schema; otherwise the user can still choose to send them.
  async run({anyway = false} = {}) {
    if (this.#running) return
    const {value, reason} = this.args.read()
    if (reason || (this.args.problems.length && !anyway)) {
      this.anyway.hidden = Boolean(reason)
      return this.args.reveal()
    }
    this.anyway.hidden = true
    if (!await this.#agreed(value) || this.#running) return
    await this.#send(value)
  }

  // Confirms before running a destructive tool; any hint other than `false` counts as destructive.
  async #agreed(args) {
    const {destructiveHint, readOnlyHint} = Object(this.tool.annotations)
    if (!destructiveHint || readOnlyHint === true) return true
    const chosen = await this.ctx.dialog({
      title: 'Run a destructive tool?',
      body: h('div.col', h('p', h('strong', this.tool.name), ' may delete or overwrite data.'),
        h('pre.code', {tabindex: 0}, pretty(args))),
      actions: [{label: "Don't run", value: null}, {label: 'Run it', value: 'run', danger: true}],
    })
    return chosen === 'run'
  }

  async #send(args) {
    const {ctx, tool} = this
    const running = new AbortController()
    const call = {at: Date.now(), tool: tool.name, args, era: ctx.mcp.era}
    const start = performance.now()
    this.#running = running
    if (!this.#shown) put(this.tabs.panel('result'), h('div.empty', 'Running…'))
    const live = this.#live()
    try {
      call.result = await ctx.mcp.request('tools/call', {name: tool.name, arguments: args},
        {signal: running.signal, onProgress: live.onProgress, onPartial: live.onPartial})
    } catch (error) {
      call.error = {code: error.code ?? null, message: error.message, ...(error.data !== undefined && {data: error.data})}
      if (running.signal.aborted) call.cancelled = true
    }
    call.ms = performance.now() - start
    live.end()
    this.#running = null
    this.#state()
    this.show(this.history.add(call))
    this.#count()
    this.tabs.choose('result')
    // Below a long form the result would be off screen.
    if (this.tabs.node.getBoundingClientRect().top > innerHeight * 0.7) this.runButton.scrollIntoView({block: 'start'})
  }

  // Shows progress while the call runs.
  #live() {
    const bar = h('progress', {'aria-label': 'Progress'})
    const words = h('span', {role: 'status'}, 'Running…')
    const clock = h('span.quiet', {'aria-hidden': 'true'})
    const partial = h('div.col', {'aria-label': 'Partial result', role: 'region', hidden: true})
    const notes = h('ol.notes', {'aria-label': 'Server messages', tabindex: 0, hidden: true})
    const start = performance.now()
    const timer = setInterval(() => put(clock, spent(performance.now() - start)), 200)
    let pieces = 0
    const note = (text) => {
      notes.hidden = false
      if (notes.childElementCount < MOST_NOTES) notes.append(h('li', text.slice(0, 2000)))
    }
    const offs = [
      this.ctx.mcp.on('notifications/message', ({level, logger, data}) =>
        note([level, logger, ...sentence(data)].map(said).filter(Boolean).join(' · '))),
      this.ctx.mcp.on('noise', (line) => note(`Invalid message: ${line}`)),
    ]
    put(this.progress, h('div.row.wrap', bar, words, clock), notes, partial)
    this.progress.hidden = false
    this.#state()
    const onProgress = ({progress, total, message}) => {
      const known = Number.isFinite(progress) && Number.isFinite(total) && total > 0
      if (known) bar.value = Math.min(1, Math.max(0, progress / total))
      else bar.removeAttribute('value')
      put(words, [known ? `${progress} of ${total}` : said(progress), said(message).slice(0, 500)].filter(Boolean).join(': '))
    }
    const onPartial = ({content}) => {
      partial.hidden = false
      if ((pieces += 1) <= MOST_PARTIAL) partial.append(showResult({content: [content ?? []].flat()}, null, this.ctx))
    }
    const end = () => {
      clearInterval(timer)
      for (const off of offs) off()
      this.progress.hidden = true
    }
    return {onProgress, onPartial, end}
  }

  #state() {
    this.runButton.disabled = this.running
    this.stop.hidden = !this.running
    this.node.setAttribute('aria-busy', String(this.running))
  }

  /** Shows a call; `kept` is true for one from the history. */
  show(call, kept = false) {
    const {ctx, tool} = this
    const before = this.#shown ?? this.history.calls(tool.name).find((one) => one.id !== call.id)
    this.#shown = call
    const {result, error, left} = call
    const text = result === undefined ? '' : JSON.stringify(result)
    const raw = small('Raw', () => draw(raw.getAttribute('aria-pressed') === 'false'))
    const place = h('div.col')
    const draw = (asRaw) => {
      raw.setAttribute('aria-pressed', String(asRaw))
      put(place, asRaw ? tree(result, {open: 3}) : this.#answer(call))
    }
    const [words, kind] = outcome(call)
    const tokens = text && text.length < COUNTED && `≈ ${estimate(text).toLocaleString()} tokens`
    const facts = [spent(call.ms), text && size(text.length), tokens, kept && `from ${when(call.at)}`].filter(Boolean).join(' · ')
    const isOther = before && before.id !== call.id && (before.result !== undefined || before.error !== undefined)
    const gone = left && result === undefined && error === undefined
    put(this.tabs.panel('result'), h('div.row.wrap',
      h('div.row.wrap', {role: 'status', 'aria-label': 'Outcome'}, h('span.pill', {class: kind}, words), h('span.quiet', facts)),
      h('span.grow'), isOther && small('Compare with previous', () => this.#compare(before, call)),
      result !== undefined && [raw, small('Copy result', () => ctx.copy(pretty(result)))]),
    gone ? h('p.quiet', `The result was too large to store (${size(left)}). Run it again to see it.`) : place)
    if (!gone) draw(false)
  }

  #answer({result, error, cancelled, args}) {
    const {ctx, tool} = this
    if (cancelled) return h('p.quiet', 'The call was cancelled. The server was notified, but may have done part of the work.')
    if (error) return showFailure(new McpError(error, {method: 'tools/call', params: {name: tool.name, arguments: args}}), ctx)
    const place = h('div')
    const app = async () => {
      const {showToolApp} = await import('./apps.js')
      put(place, showToolApp(tool, args, result, ctx))
    }
    const open = appOf(tool) && h('div.col', h('div', h('button.primary', {type: 'button', onclick: app}, 'Show the app')), place)
    return [open, showResult(result, tool, ctx)]
  }

  #compare(left, right) {
    const back = small('← Back to result', () => this.show(right, true))
    this.tabs.choose('result')
    put(this.tabs.panel('result'), h('div.row.wrap', h('h3.grow', 'Compare results'), back), compare(left, right, called))
    back.focus()
  }

  /** Loads a call's arguments and shows its result. */
  open(call) {
    if (call.args !== undefined) this.args.set(call.args)
    this.show(call, true)
    this.tabs.choose('result')
  }

  #drawHistory() {
    const {history, tool} = this
    const calls = history.calls(tool.name)
    const saved = history.saved(tool.name)
    this.#chosen = new Set([...this.#chosen].filter((id) => calls.some((call) => call.id === id)))
    if (!calls.length && !saved.length) {
      return h('div.empty', 'Calls of this tool appear here. Compare any two, or run one again.')
    }
    const button = small('Compare selected', () => {
      const [right, left] = calls.filter((call) => this.#chosen.has(call.id))
      this.#compare(left, right)
    })
    const count = () => {
      button.disabled = this.#chosen.size !== 2
    }
    count()
    return [
      saved.length > 0 && h('section.col', {'aria-label': 'Saved calls'}, h('h3', 'Saved'),
        h('ul.calls', saved.map((one) => this.#savedRow(one)))),
      calls.length > 0 && h('section.col', {'aria-label': 'Calls'},
        h('div.row.wrap', h('h3.grow', 'Calls'), button, small('Clear all', () => this.#forget())),
        h('ul.calls', calls.map((call) => this.#callRow(call, count)))),
    ]
  }

  #savedRow({name, args}) {
    const {history, tool} = this
    return h('li', h('div.grow', h('strong', said(name)), h('div.address', brief(args))),
      small('Load', () => this.args.set(args), {'aria-label': `Load ${said(name)}`}),
      small('Run', () => this.#replay(args), {'aria-label': `Run ${said(name)}`}),
      small('✕', () => {
        history.unsave(tool.name, name)
        this.#count()
      }, {class: 'ghost', 'aria-label': `Delete ${said(name)}`}))
  }

  #callRow(call, count) {
    const [words, kind] = outcome(call)
    const time = when(call.at)
    const mark = h('input', {type: 'checkbox', 'aria-label': `Compare the call of ${time}`, onchange: () => {
      this.#chosen[mark.checked ? 'add' : 'delete'](call.id)
      count()
    }})
    mark.checked = this.#chosen.has(call.id)
    mark.disabled = call.result === undefined && call.error === undefined
    const facts = h('div.row.wrap', h('span', time), h('span.pill', {class: kind}, words), h('span.quiet', spent(call.ms)))
    return h('li', mark, h('div.grow', facts, h('div.address', brief(call.args))),
      small('Open', () => this.open(call), {'aria-label': `Open the call of ${time}`}),
      call.args !== undefined && small('Replay', () => this.#replay(call.args), {'aria-label': `Replay the call of ${time}`}))
  }

  #replay(args) {
    this.args.set(args)
    return this.run({anyway: true})
  }

  async #forget() {
    const chosen = await this.ctx.dialog({title: 'Clear the call history of this tool?', body: h('p', 'Saved calls are kept.'),
      actions: [{label: 'Keep', value: null}, {label: 'Clear', value: 'forget', danger: true}]})
    if (chosen !== 'forget') return
    this.history.forget(this.tool.name)
    this.#count()
  }

  async #save() {
    const {value, reason} = this.args.read()
    if (reason) return this.args.reveal()
    const name = h('input.input', {type: 'text', 'aria-label': 'Name', value: '', autocomplete: 'off'})
    const problem = h('p.bad', {role: 'alert'})
    const check = () => {
      put(problem, !name.value.trim() && 'Enter a name.')
      return Boolean(name.value.trim())
    }
    const body = (close) => {
      name.addEventListener('keydown', (event) => {
        if (event.key !== 'Enter') return
        // The same key press must not also trigger the button that regains focus.
        event.preventDefault()
        if (check()) close('save')
      })
      return h('div.col', h('label.field', h('span', 'Name'), name), problem, h('pre.code', {tabindex: 0}, pretty(value)))
    }
    const chosen = await this.ctx.dialog({title: 'Save this call', body,
      actions: [{label: 'Cancel', value: null}, {label: 'Save', value: 'save', primary: true, check}]})
    if (chosen !== 'save') return
    const kept = this.history.save(this.tool.name, name.value.trim(), value)
    this.ctx.toast(kept ? 'Saved. See the History tab.' : 'The arguments are too large to save.', kept ? 'ok' : 'bad')
    this.#count()
  }

  #link() {
    const {value, reason} = this.args.read()
    if (reason) return this.args.reveal()
    this.ctx.copy(new URL(this.ctx.link('tools', this.tool.name, {args: JSON.stringify(value)}), location.href).href)
  }

  #drawCopies() {
    const {ctx, tool} = this
    const {value, reason} = this.args.read()
    if (reason || !isObject(value)) return h('div.empty', 'Arguments must be a JSON object.')
    return snippets({tool, args: value, target: ctx.target, era: ctx.mcp.era}).map(({id, label, text}) =>
      h('section.snippet', {'aria-label': label, 'data-snippet': id},
        h('div.row', h('h3.grow', label), small('Copy', () => ctx.copy(text), {'aria-label': `Copy as ${label}`})),
        h('pre.code', {tabindex: 0, role: 'group', 'aria-label': `${label} snippet`}, text)))
  }

  #drawDefinition() {
    const {inputSchema, outputSchema, ...rest} = this.tool
    return [
      h('div.row', h('h3.grow', 'Input schema'), small('Copy definition', () => this.ctx.copy(pretty(this.tool)))),
      tree(inputSchema ?? null, {open: 2}),
      outputSchema !== undefined && [h('h3', 'Output schema'), tree(outputSchema, {open: 2})],
      h('h3', 'Other fields'), tree(rest, {open: 1}),
    ]
  }
}
