// One tool: its arguments, the call as it runs, its result, the calls before it, and the call written for other programs.
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
// A log line with a sentence and fields: the sentence comes first.
const sentence = (data) => {
  if (typeof data?.message !== 'string') return [data]
  const {message, ...fields} = data
  return Object.keys(fields).length ? [message, fields] : [message]
}
const spent = (ms) => (ms === null || ms === undefined ? '' : ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`)
const brief = (value) => {
  const text = JSON.stringify(value) ?? 'not kept'
  return text.length > 120 ? `${text.slice(0, 119)}…` : text
}

function when(at) {
  const date = new Date(at)
  const today = date.toDateString() === new Date().toDateString()
  return today ? date.toLocaleTimeString() : date.toLocaleString()
}

/** How a call ended: [words, class of its pill]. */
export function outcome({result, error, cancelled, left}) {
  if (cancelled) return ['cancelled', 'warn']
  if (error !== undefined) return [error.code === null || error.code === undefined ? 'no answer' : `error ${said(error.code)}`, 'bad']
  if (result?.isError) return ['tool error', 'bad']
  return result === undefined && left ? ['not kept', ''] : ['ok', 'ok']
}

/** A call in words, for lists and comparisons. */
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
    this.tabs = makeTabs('Answer', [
      {id: 'result', title: 'Result'}, {id: 'history', title: 'History', draw: () => this.#drawHistory()},
      {id: 'copy', title: 'Copy as', draw: () => this.#drawCopies()},
      {id: 'definition', title: 'Definition', draw: () => this.#drawDefinition()},
    ])
    this.node = h('div.call.col', this.args.node, h('div.toolbar.run', this.runButton, this.stop, this.anyway,
      h('span.quiet.keys', h('kbd.kbd', /Mac/.test(navigator.platform) ? '⌘' : 'Ctrl'), ' ', h('kbd.kbd', 'Enter')), h('span.grow'),
      small('Save call…', () => this.#save()),
      small('Copy link', () => this.#link(), {title: 'The address holds the token of this launch'})),
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
    put(this.tabs.panel('result'), h('div.empty', 'Not called yet. Fill in the arguments and run it.'))
  }

  #edited() {
    this.anyway.hidden = true
    // The first change comes while this is being made.
    if (this.tabs?.chosen() === 'copy') this.tabs.redraw('copy')
  }

  #count() {
    const calls = this.history.calls(this.tool.name).length
    const saved = this.history.saved(this.tool.name).length
    this.tabs.rename('history', calls + saved ? `History (${calls + saved})` : 'History')
    this.tabs.redraw('history')
  }

  // Sends the arguments as they are, unless the schema is against them: then the person may still say so.
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

  // A tool that says it destroys is asked about first; what it says in another way than `false` counts as yes.
  async #agreed(args) {
    const {destructiveHint, readOnlyHint} = Object(this.tool.annotations)
    if (!destructiveHint || readOnlyHint === true) return true
    const chosen = await this.ctx.dialog({
      title: 'Run a destructive tool?',
      body: h('div.col', h('p', h('strong', this.tool.name), ' says that it may destroy or overwrite something.'),
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
    if (!this.#shown) put(this.tabs.panel('result'), h('div.empty', 'It runs. The answer comes here.'))
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
    // Below a long form the answer would be out of sight.
    if (this.tabs.node.getBoundingClientRect().top > innerHeight * 0.7) this.runButton.scrollIntoView({block: 'start'})
  }

  // What is shown while the call runs.
  #live() {
    const bar = h('progress', {'aria-label': 'Progress'})
    const words = h('span', {role: 'status'}, 'Running …')
    const clock = h('span.quiet', {'aria-hidden': 'true'})
    const partial = h('div.col', {'aria-label': 'Partial result', role: 'region', hidden: true})
    const notes = h('ol.notes', {'aria-label': 'What the server says', tabindex: 0, hidden: true})
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
      this.ctx.mcp.on('noise', (line) => note(`What is no message: ${line}`)),
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

  /** Shows a call of the history; `kept` where it was not made just now. */
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
      h('span.grow'), isOther && small('Compare with the one before', () => this.#compare(before, call)),
      result !== undefined && [raw, small('Copy result', () => ctx.copy(pretty(result)))]),
    gone ? h('p.quiet', `The result was too large to be kept (${size(left)}). Run it again to see it.`) : place)
    if (!gone) draw(false)
  }

  #answer({result, error, cancelled, args}) {
    const {ctx, tool} = this
    if (cancelled) return h('p.quiet', 'The call was cancelled: the server was told, and may have done some of it.')
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
    const back = small('← Back to the result', () => this.show(right, true))
    this.tabs.choose('result')
    put(this.tabs.panel('result'), h('div.row.wrap', h('h3.grow', 'Two results side by side'), back), compare(left, right, called))
    back.focus()
  }

  /** Loads a call's arguments, and shows what it answered. */
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
      return h('div.empty', 'Calls of this tool appear here. Two of them can be compared, and each can be run again.')
    }
    const button = small('Compare the chosen two', () => {
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
        h('div.row.wrap', h('h3.grow', 'Calls'), button, small('Forget all', () => this.#forget())),
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
    const chosen = await this.ctx.dialog({title: 'Forget all calls of this tool?', body: h('p', 'Saved calls stay.'),
      actions: [{label: 'Keep', value: null}, {label: 'Forget', value: 'forget', danger: true}]})
    if (chosen !== 'forget') return
    this.history.forget(this.tool.name)
    this.#count()
  }

  async #save() {
    const {value, reason} = this.args.read()
    if (reason) return this.args.reveal()
    const name = h('input.input', {type: 'text', 'aria-label': 'Name', value: '', autocomplete: 'off'})
    const told = h('p.bad', {role: 'alert'})
    const check = () => {
      put(told, !name.value.trim() && 'Give it a name.')
      return Boolean(name.value.trim())
    }
    const body = (close) => {
      name.addEventListener('keydown', (event) => {
        if (event.key !== 'Enter') return
        // The button that gets the focus back must not be pressed by the same key.
        event.preventDefault()
        if (check()) close('save')
      })
      return h('div.col', h('label.field', h('span', 'Name'), name), told, h('pre.code', {tabindex: 0}, pretty(value)))
    }
    const chosen = await this.ctx.dialog({title: 'Save this call', body,
      actions: [{label: 'Cancel', value: null}, {label: 'Save', value: 'save', primary: true, check}]})
    if (chosen !== 'save') return
    const kept = this.history.save(this.tool.name, name.value.trim(), value)
    this.ctx.toast(kept ? 'Saved. It is in the tab History.' : 'The arguments are too large to be kept.', kept ? 'ok' : 'bad')
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
    if (reason || !isObject(value)) return h('div.empty', 'The arguments are no JSON object: mend them first.')
    return snippets({tool, args: value, target: ctx.target, era: ctx.mcp.era}).map(({id, label, text}) =>
      h('section.snippet', {'aria-label': label, 'data-snippet': id},
        h('div.row', h('h3.grow', label), small('Copy', () => ctx.copy(text), {'aria-label': `Copy as ${label}`})),
        h('pre.code', {tabindex: 0, role: 'group', 'aria-label': `The call for ${label}`}, text)))
  }

  #drawDefinition() {
    const {inputSchema, outputSchema, ...rest} = this.tool
    return [
      h('div.row', h('h3.grow', 'Input schema'), small('Copy definition', () => this.ctx.copy(pretty(this.tool)))),
      tree(inputSchema ?? null, {open: 2}),
      outputSchema !== undefined && [h('h3', 'Output schema'), tree(outputSchema, {open: 2})],
      h('h3', 'Everything else'), tree(rest, {open: 1}),
    ]
  }
}
