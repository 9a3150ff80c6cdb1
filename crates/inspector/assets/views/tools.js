// Tools: the list with source and token cost, and one tool to call.
import {appOf} from '../apps.js'
import {Call, called} from '../call.js'
import {h, put} from '../dom.js'
import {historyOf} from '../history.js'
import {markdown} from '../markdown.js'
import {showFailure} from '../result.js'
import {cost} from '../tokens.js'

const EMPTY = 'This server has no tools. Choose another target in the bar above, or see its resources.'
const PAUSE = 200
const SLOW = 5000
const LONG = 600
const RECENT = 12
const SORTS = {
  listed: ['As listed', null],
  name: ['By name', (a, b) => a.tool.name.localeCompare(b.tool.name)],
  cost: ['By cost', (a, b) => b.tokens - a.tokens],
}

const said = (value) => (typeof value === 'string' ? value : JSON.stringify(value))
const titleOf = (tool) => tool.title || (typeof tool.annotations?.title === 'string' && tool.annotations.title) || ''

/** The server a tool comes from: docent exposes tools of other servers as server__tool. */
export function sourceOf({name}, {server}) {
  const at = name.indexOf('__')
  return server.name === 'docent' && at > 0 ? name.slice(0, at) : server.name || 'this server'
}

// A tool's annotations, as [label, class, explanation].
function hintsOf(tool) {
  const {readOnlyHint, destructiveHint, idempotentHint, openWorldHint} = Object(tool.annotations)
  const known = [
    [readOnlyHint, ['read-only', 'ok', 'Declared read-only.'], ['writes', 'warn', 'May modify data.']],
    [destructiveHint, ['destructive', 'bad', 'May delete or overwrite data.'],
      ['not destructive', '', 'Declared additive only.']],
    [idempotentHint, ['idempotent', '', 'Repeating a call has no further effect.'], null],
    [openWorldHint, ['open world', 'warn', 'May access external systems.'],
      ['closed world', '', 'Declared to access no external systems.']],
  ]
  return known.map(([value, yes, no]) => (value === true ? yes : value === false ? no
    : value !== undefined && [`${yes[0]}: ${said(value)}`, 'warn', 'This hint is not a boolean.'])).filter(Boolean)
}

class Tools {
  items = null
  wanted = {name: '', args: null, call: null}
  shown = null
  timer = 0
  // Running calls continue while another tool is shown.
  running = new Map()

  constructor(root, ctx) {
    const {mcp, store} = ctx
    Object.assign(this, {ctx, mcp, history: historyOf(store)})
    this.detail = h('div.detail.tool')
    this.total = h('span.quiet', {role: 'status'})
    this.problem = h('div')
    this.empty = h('div', 'Loading tools…')
    this.sort = h('select', {'aria-label': 'Order', onchange: () => {
      store.set('tools-order', this.sort.value)
      this.draw()
    }}, Object.entries(SORTS).map(([value, [label]]) => h('option', {value, selected: value === store.get('tools-order')}, label)))
    this.list = ctx.list({
      items: [], label: 'Tools', empty: this.empty, row,
      key: ({tool}) => tool.name,
      text: ({tool, source}) => [tool.name, titleOf(tool), tool.description, source].join(' '),
      open: ({tool}) => ctx.go(ctx.link('tools', tool.name)),
    })
    const order = h('div.row.order', this.sort, h('span.grow'), this.total)
    this.split = h('div.split', h('div.side', order, this.problem, this.list.node), this.detail)
    root.append(this.split)
    ctx.keys({
      'mod+Enter': {run: () => (this.shown ? void this.shown.call.run() : false), label: 'run the tool'},
      Escape: {run: () => (this.shown?.call.running ? this.shown.call.cancel() : false), label: 'cancel the running call'},
    })
    this.offs = [
      mcp.on('notifications/tools/list_changed', () => this.soon()),
      mcp.on('state', () => mcp.state === 'ready' && this.load()),
      mcp.on('noise', (line) => {
        this.noise = line.slice(0, 300)
        if (this.late) this.wait()
      }),
    ]
    if (mcp.state === 'ready') this.load()
  }

  // A server may report a thousand changes at once.
  soon() {
    this.timer ||= setTimeout(() => this.load(), PAUSE)
  }

  async load() {
    const {mcp, ctx} = this
    clearTimeout(this.timer)
    this.timer = 0
    const slow = setTimeout(() => {
      this.late = true
      this.wait()
    }, SLOW)
    try {
      const all = await mcp.list('tools/list', 'tools')
      const named = all.filter(({name}) => name)
      this.items = named.map((tool) => ({tool, source: sourceOf(tool, mcp), tokens: cost(tool), many: mcp.server.name === 'docent'}))
      const without = all.length - named.length
      const entries = without === 1 ? '1 entry has' : `${without} entries have`
      put(this.problem, without > 0 && h('p.warn.note', `${entries} no name and cannot be called.`))
      put(this.empty, EMPTY)
      this.draw()
      this.show()
    } catch (error) {
      if (mcp.state === 'ready') put(this.problem, showFailure(error, ctx))
    } finally {
      clearTimeout(slow)
      this.late = false
    }
  }

  // An unreadable response never arrives; shows what the server wrote instead.
  wait() {
    put(this.problem, h('div.note', {role: 'status'}, h('p.warn', 'The server has not responded to tools/list yet.'),
      this.noise && [h('p.quiet', 'Invalid message from the server:'), h('pre.code', {tabindex: 0}, this.noise)]))
  }

  draw() {
    const [, order] = SORTS[this.sort.value]
    this.list.update(order ? [...this.items].sort(order) : this.items)
    put(this.total, this.items.length > 0 && `≈ ${this.items.reduce((sum, one) => sum + one.tokens, 0).toLocaleString()} tokens in total`)
    this.list.select(this.wanted.name || null)
  }

  route({path, query}) {
    this.wanted = {name: path.join('/'), args: query.get('args'), call: query.get('call')}
    this.show()
  }

  show() {
    const {name} = this.wanted
    const before = document.activeElement
    this.split.classList.toggle('open', Boolean(name))
    this.list.select(name || null)
    const tool = this.items?.find((one) => one.tool.name === name)?.tool
    const definition = tool && JSON.stringify(tool)
    // Reloading the list does not disturb an unchanged tool.
    if (!tool || this.shown?.definition !== definition) {
      this.leave()
      this.shown = tool ? this.running.get(name) ?? {definition, call: new Call(this.ctx, tool)} : null
      this.running.delete(name)
      const back = h('a.button.small.ghost.back', {href: '#/tools'}, '← All tools')
      put(this.detail, back, tool ? [about(tool, this.mcp), this.shown.call.node] : this.without(name))
      this.detail.scrollTop = 0
      // At phone width the list is hidden, so focus moves here.
      if (this.list.node.contains(before) && !this.list.node.offsetParent) back.focus()
    }
    if (this.shown) this.apply()
  }

  without(name) {
    if (!name) return start(this.history.calls().slice(0, RECENT), this.ctx)
    if (!this.items) return h('p.quiet', {role: 'status'}, 'Loading tools…')
    const none = `This server has no tool “${name.slice(0, 200)}”.`
    return h('div.empty', none, ' Choose one from the list, or another target in the bar above.')
  }

  // Applies arguments or a call from the URL, then removes them, so that a reload keeps later edits.
  apply() {
    const {name, args, call} = this.wanted
    if (args === null && call === null) return
    this.wanted = {name, args: null, call: null}
    history.replaceState(history.state, '', this.ctx.link('tools', name))
    const found = call !== null && this.history.find(call)
    if (found) this.shown.call.open(found)
    if (args === null) return
    try {
      this.shown.call.args.set(JSON.parse(args))
    } catch {
      this.ctx.toast('The arguments in the URL are not valid JSON.', 'bad')
    }
  }

  leave() {
    if (this.shown?.call.running) this.running.set(this.shown.call.tool.name, this.shown)
    else this.shown?.call.end()
    this.shown = null
  }

  unmount() {
    clearTimeout(this.timer)
    for (const off of this.offs) off()
    this.leave()
    for (const {call} of this.running.values()) call.end()
  }
}

// Before a tool is chosen.
function start(calls, ctx) {
  const key = (name) => h('kbd.kbd', name)
  return h('div.start.col', h('div.empty', 'Choose a tool to see its arguments and call it. ', key('/'), ' searches, ', key('j'),
    ' and ', key('k'), ' move, ', key('Enter'), ' opens.'),
  calls.length > 0 && h('section.col', {'aria-label': 'Last calls'}, h('h2', 'Last calls'), h('ul.calls', calls.map((call) => h('li',
    h('a.grow.cut', {href: ctx.link('tools', said(call.tool), {call: said(call.id)})}, said(call.tool)), h('span.quiet', called(call)))))))
}

function about(tool, mcp) {
  const title = titleOf(tool)
  const {description = ''} = tool
  const words = description && markdown(description)
  return h('header.col', h('h2', title || tool.name), title && h('div.address-line', tool.name),
    h('div.facts', h('span.pill', {title: 'Source server'}, sourceOf(tool, mcp)),
      h('span.pill', {title: 'Estimated token cost of its definition'}, `≈ ${cost(tool).toLocaleString()} tokens`),
      hintsOf(tool).map(([label, kind, means]) => h('span.pill', {class: kind, title: means}, label)),
      appOf(tool) && h('span.pill.info', {title: appOf(tool)}, 'has an app'),
      tool.outputSchema !== undefined && h('span.pill', 'has an outputSchema')),
    !description ? h('p.quiet', 'No description.')
      : description.length <= LONG ? words : h('details', h('summary', `${description.slice(0, 160)}…`), words))
}

function row({tool, source, tokens, many}) {
  const words = (tool.description ?? '').trim().split('\n', 1)[0]
  return [
    h('div.row', h('span.name.cut.grow', tool.name), h('span.pill.cost', {title: 'estimated tokens'}, tokens.toLocaleString())),
    h('div.row.line', many && h('span.source', source), h('span.quiet.cut.grow', titleOf(tool) ? `${titleOf(tool)} — ${words}` : words)),
  ]
}

export default {
  id: 'tools', title: 'Tools', icon: '⚒',
  mount(root, ctx) {
    const view = new Tools(root, ctx)
    return {route: (route) => view.route(route), unmount: () => view.unmount()}
  },
}
