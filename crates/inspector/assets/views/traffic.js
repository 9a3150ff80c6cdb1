// Traffic: all messages of all connections in one list, with both hops of a call side by side.
import {h, put} from '../dom.js'
import {sequence} from '../chart.js'
import {clock, ends, failed, feedOf, idText, parse, readRecording, size, took, writeRecording} from '../feed.js'

const ROW = 26
const SPARE = 4
const COLUMNS = ['Time', 'From → to', 'Id', 'Message', 'Took', 'Size', 'Revision']

// The list. Only visible rows are in the page, each at a fixed height.
class Rows {
  items = []
  active = null
  #drawn = new Map()
  #frame = 0

  constructor({open, moved, cells, inner}) {
    Object.assign(this, {open, moved, cells, inner})
    this.space = h('div.tr-space', {role: 'rowgroup'})
    const names = COLUMNS.map((name) => h('span', {role: 'columnheader'}, name))
    this.node = h('div.tr-grid', {
      role: 'grid', tabindex: 0, 'aria-label': 'Messages', 'aria-colcount': COLUMNS.length,
      onscroll: () => this.#scrolled(), onkeydown: (event) => this.#key(event), onclick: (event) => this.#click(event),
    }, h('div', {role: 'rowgroup', class: 'tr-head'}, h('div.tr-row', {role: 'row', 'aria-rowindex': 1}, names)), this.space)
    this.resized = new ResizeObserver(() => this.#soon())
    this.resized.observe(this.node)
  }

  // Shows other items, at the end or at the current position.
  show(items, follow) {
    const first = Math.floor(this.node.scrollTop / ROW)
    const moved = follow ? -1 : items.indexOf(this.items[first])
    this.items = items
    this.space.style.setProperty('height', `${items.length * ROW}px`)
    this.node.setAttribute('aria-rowcount', items.length + 1)
    if (follow) this.node.scrollTop = this.node.scrollHeight
    else if (moved >= 0 && moved !== first) this.node.scrollTop += (moved - first) * ROW
    this.#soon()
  }

  #soon() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0
      this.#draw()
    })
  }

  #scrolled() {
    const {scrollTop, scrollHeight, clientHeight} = this.node
    this.moved(scrollHeight - clientHeight - scrollTop < ROW * 2)
    this.#soon()
  }

  #draw() {
    const first = Math.max(0, Math.floor(this.node.scrollTop / ROW) - SPARE)
    const last = Math.min(this.items.length, first + Math.ceil(this.node.clientHeight / ROW) + 2 * SPARE)
    // Reuses rows that scrolled out of view.
    const free = []
    for (const [at, row] of this.#drawn) {
      if (at >= first && at < last && row.item === this.items[at]) continue
      free.push(row)
      this.#drawn.delete(at)
    }
    for (let at = first; at < last; at += 1) {
      if (!this.#drawn.has(at)) this.#drawn.set(at, this.#fill(free.pop() ?? this.#row(), this.items[at], at))
      const chosen = String(this.items[at] === this.active)
      const row = this.#drawn.get(at)
      if (row.getAttribute('aria-selected') !== chosen) row.setAttribute('aria-selected', chosen)
    }
    for (const row of free) row.remove()
    const seen = this.active && this.#drawn.get(this.items.indexOf(this.active))
    if (seen) this.node.setAttribute('aria-activedescendant', seen.id)
    else this.node.removeAttribute('aria-activedescendant')
  }

  #row() {
    return this.space.appendChild(h('div.tr-row', {role: 'row'}, COLUMNS.map(() => h('span', {role: 'gridcell'}))))
  }

  #fill(row, item, at) {
    const {entry} = item
    row.item = item
    row.id = `message-${entry.seq}`
    row.className = `tr-row ${failed(entry) ? 'bad' : ''} ${this.inner(item) ? 'inner' : ''}`
    row.setAttribute('aria-rowindex', at + 2)
    row.style.setProperty('top', `${at * ROW}px`)
    for (const [column, cell] of this.cells(item).entries()) put(row.children[column], cell)
    return row
  }

  // Selects an item and scrolls it into view.
  choose(item) {
    this.active = item
    const top = this.items.indexOf(item) * ROW
    const room = this.node.clientHeight - 2 * ROW
    if (top >= 0 && top < this.node.scrollTop) this.node.scrollTop = top
    else if (top > this.node.scrollTop + room) this.node.scrollTop = top - room
    this.#soon()
  }

  move(steps) {
    const from = this.items.indexOf(this.active)
    const to = from < 0 ? (steps > 0 ? 0 : this.items.length - 1) : from + steps
    const item = this.items[Math.max(0, Math.min(this.items.length - 1, to))]
    if (item) this.choose(item)
    return item
  }

  #key(event) {
    const page = Math.floor(this.node.clientHeight / ROW) - 2
    const steps = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity}[event.key]
    if (steps) this.move(steps)
    else if (event.key === 'Enter' && this.active) this.open(this.active)
    else return
    event.preventDefault()
  }

  #click(event) {
    const {item} = event.target.closest('.tr-space > .tr-row') ?? {}
    if (!item) return
    this.choose(item)
    this.open(item)
  }
}

// Whether docent exchanged it with a server on behalf of a client's request.
const isInner = (book, item) => item.entry.hop === 'server' && book.top(item)?.entry.hop === 'client'

// The cells of a row, by column.
function cells(book, item) {
  const {entry} = item
  const top = book.top(item)
  const mapped = isInner(book, item) && entry.id !== null
  const [from, to] = ends(entry)
  const outward = (entry.hop === 'client') === (entry.direction === 'in')
  const added = book.added(item)
  return [
    clock(entry.at),
    [h('span', {'aria-hidden': 'true'}, outward ? '→ ' : '← '), h('span.sr', `${from} to ${to}`),
      h('span', {'aria-hidden': 'true'}, entry.peer ?? entry.hop)],
    mapped ? `${idText(top.entry.id)} → ${idText(entry.id)}` : idText(entry.id),
    [entry.kind === 'request' ? null : h('span.pill', {class: failed(entry) ? 'bad' : ''}, entry.kind === 'response' && failed(entry)
      ? 'isError' : `${entry.kind}${entry.kind === 'error' ? ` ${entry.code}` : ''}`), ' ',
    entry.attempt > 1 && [h('span.pill.warn', `attempt ${entry.attempt}`), ' '],
    [entry.method?.replace(/^notifications\//, ''), entry.target, entry.text].filter(Boolean).join(' · ')],
    [took(entry.micros), added !== null && h('span.quiet', {title: 'Time added by docent'}, ` +${took(added)}`)],
    size(entry.bytes),
    entry.era ?? '',
  ]
}

const FILTERS = {
  method: ({entry}, wanted) => (entry.method ?? '').includes(wanted),
  server: ({entry}, wanted) => entry.hop === 'server' && entry.peer === wanted,
  client: ({entry}, wanted, top) => (entry.hop === 'client' ? entry : top?.entry)?.peer === wanted,
  id: ({entry}, wanted) => idText(entry.id) === wanted,
  errors: ({entry}) => failed(entry),
  text: (item, wanted) => {
    const {entry} = item
    item.words ??= [entry.method, entry.target, entry.peer, entry.text, entry.code, idText(entry.id), entry.era, item.payload]
      .join(' ').toLowerCase()
    return item.words.includes(wanted.toLowerCase())
  },
}

// Items to show. When paired, a call is shown in full if each filter matches one of its messages; else messages are filtered one by one.
function pick(book, filters, paired, since) {
  const active = Object.entries(filters).filter(([, wanted]) => wanted)
  const fits = ([name, wanted]) => (item) => FILTERS[name](item, wanted, book.top(item))
  const items = since ? book.items.filter((item) => item.entry.seq > since) : book.items
  if (!paired) return items.filter((item) => active.every((filter) => fits(filter)(item)))
  const roots = active.map((filter) => new Set(items.filter(fits(filter)).map((item) => item.root)))
  const calls = [...book.calls].filter(([root]) => roots.every((set) => set.has(root)))
  return calls.flatMap(([, call]) => (since ? call.filter((item) => item.entry.seq > since) : call))
}

class Traffic {
  filters = {}
  shown = []
  recording = null
  paused = false
  follow = true
  since = 0

  constructor(root, ctx) {
    Object.assign(this, {root, ctx, feed: feedOf(ctx), paired: ctx.store.get('traffic-paired', true)})
    this.rows = new Rows({
      cells: (item) => cells(this.book, item),
      inner: (item) => isInner(this.book, item),
      open: (item) => ctx.go(this.hash(item)),
      moved: (end) => this.setFollow(end),
    })
    this.detail = h('div.tr-detail', {hidden: true})
    this.controls()
    this.banner = h('div.tr-banner')
    this.none = h('div.empty')
    put(root, h('div.tr', this.banner, this.bar, h('div.tr-main', h('div.tr-list', this.rows.node, this.none), this.detail)))
    this.stop = this.feed.on(() => this.changed())
    this.keys = ctx.keys({
      '/': () => this.inputs.text.focus(), j: () => this.step(1), k: () => this.step(-1),
      p: {run: () => this.pause(), label: 'pause, in Traffic'}, f: {run: () => this.toEnd(), label: 'follow the end, in Traffic'},
    })
    this.drawBanner()
  }

  get book() {
    return this.recording?.book ?? this.feed.book
  }

  controls() {
    const input = (name, label, more) => h('input.input', {
      type: 'search', 'aria-label': label, placeholder: label, ...more, oninput: (event) => this.filter(name, event.target.value),
    })
    const select = (name, label) => h('select.input', {'aria-label': label, onchange: (event) => this.filter(name, event.target.value)})
    const errors = h('input', {type: 'checkbox', onchange: () => this.filter('errors', errors.checked ? '1' : '')})
    const button = (label, onclick, title) => h('button.small', {onclick, title}, label)
    this.methods = h('datalist', {id: 'tr-methods'})
    this.inputs = {
      text: input('text', 'Text ( / )'), method: input('method', 'Method', {list: 'tr-methods'}), id: input('id', 'Id'),
      server: select('server', 'Server'), client: select('client', 'Client'), errors,
    }
    this.buttons = {
      pause: button('Pause', () => this.pause(), 'Pause (key p)'),
      follow: button('Follow', () => this.toEnd(), 'Follow the end (key f)'),
      pair: button('Pair calls', () => this.pair(), 'Group messages by call instead of by time'),
    }
    this.file = h('input.sr', {type: 'file', accept: '.jsonl,.ndjson,.json', 'aria-label': 'Open a recording', onchange: () => this.import()})
    this.exporter = button('Export', () => this.export(), 'Save the shown messages as JSON Lines')
    const {text, method, id, server, client} = this.inputs
    this.status = h('span.quiet.grow', {role: 'status'})
    this.bar = h('div.tr-bar', h('div.tr-filters', text, method, server, client, id, h('label.row', errors, 'Errors only'), this.methods),
      h('div.toolbar', Object.values(this.buttons), button('Clear', () => this.clear(), 'Clears this view only'), this.exporter,
        button('Import', () => this.file.click(), 'Open a recording'), this.file, this.status))
  }

  // Redraws at most ten times per second.
  changed() {
    this.timer ??= setTimeout(() => {
      this.timer = null
      if (!this.paused && !this.recording) this.draw()
      else this.drawStatus()
      this.drawBanner()
      if (this.wanted) this.open(this.wanted)
    }, 100)
  }

  draw() {
    this.shown = pick(this.book, this.filters, this.paired, this.recording ? 0 : this.since)
    this.rows.show(this.shown, this.follow && !this.recording)
    this.choices()
    this.drawStatus()
  }

  // Offers the names seen so far.
  choices() {
    const seen = {server: new Set(), client: new Set(), method: new Set()}
    for (const {entry} of this.book.items) {
      seen[entry.hop]?.add(entry.peer)
      if (seen.method.size < 100 && entry.method) seen.method.add(entry.method)
    }
    const sign = JSON.stringify([...seen.server, 0, ...seen.client, 0, ...seen.method, this.filters])
    if (sign === this.sign) return
    this.sign = sign
    for (const name of ['server', 'client']) {
      const names = [...new Set([...seen[name], this.filters[name]])].filter(Boolean).sort()
      put(this.inputs[name], h('option', {value: ''}, `Any ${name}`), names.map((one) => h('option', {value: one}, one)))
      this.inputs[name].value = this.filters[name] ?? ''
    }
    put(this.methods, [...seen.method].sort().map((one) => h('option', {value: one})))
  }

  drawStatus() {
    const {capture, problem, loaded, missed} = this.feed
    const all = this.book.items.length
    const newer = this.paused ? ` · paused, ${all - this.pausedAt} new` : ''
    put(this.status, `${this.shown.length} of ${all}${newer}${missed ? ` · ${missed} lost` : ''}`,
      problem && h('span.bad', ` · ${problem}`), this.since > 0 && [' ', h('button.small.ghost', {onclick: () => this.clear(0)}, 'Show all')])
    this.none.hidden = this.shown.length > 0 || !loaded
    put(this.none, !all && !capture.on ? 'Capture is off. Turn it on above, then make a call to see its messages here.'
      : !all ? 'No messages yet. Call a tool or connect an agent to see messages here.'
        : 'No matching messages. Clear the filters to see all.')
    for (const [name, on] of [['pause', this.paused], ['follow', this.follow], ['pair', this.paired]]) {
      this.buttons[name].setAttribute('aria-pressed', on)
    }
  }

  drawBanner() {
    const {capture} = this.feed
    const sign = JSON.stringify([capture, this.recording?.name])
    if (sign === this.banner.sign) return
    this.banner.sign = sign
    if (this.recording) {
      const {name, bad, left} = this.recording
      put(this.banner, h('strong.grow', `Recording ${name}`, bad > 0 && ` · ${bad} invalid lines skipped`,
        left > 0 && ` · ${left} lines past 50,000 skipped`), h('button.small', {onclick: () => this.close()}, 'Back to live traffic'))
      return
    }
    const box = (label, name) => h('label.row', h('input', {
      type: 'checkbox', role: 'switch', checked: capture[name], 'data-name': name,
      onchange: () => this.switch(Object.fromEntries([...this.banner.querySelectorAll('[data-name]')].map((one) => [one.dataset.name, one.checked]))),
    }), label)
    const focused = this.banner.contains(document.activeElement) && document.activeElement.dataset.name
    put(this.banner, box('Capture', 'on'), box('Payloads', 'payloads'), h('span.quiet', capture.on
      ? `The newest messages are kept in memory${capture.payloads ? ' with their payloads; secrets are redacted.' : ', without payloads.'}`
      : 'Nothing is recorded.'))
    if (focused) this.banner.querySelector(`[data-name=${focused}]`).focus()
  }

  async switch(capture) {
    await this.feed.setCapture(capture).catch((error) => this.ctx.toast(error.message, 'bad'))
    this.banner.sign = ''
    this.drawBanner()
    this.drawStatus()
  }

  hash(item) {
    const query = new URLSearchParams(Object.entries(this.filters).filter(([, wanted]) => wanted)).toString()
    return this.ctx.link('traffic', ...(item ? [String(item.entry.seq)] : [])) + (query && `?${query}`)
  }

  filter(name, wanted) {
    this.filters = {...this.filters, [name]: wanted}
    history.replaceState(history.state, '', this.hash(this.opened))
    this.draw()
  }

  route({path, query}) {
    this.filters = Object.fromEntries(Object.keys(FILTERS).map((name) => [name, query.get(name) ?? '']))
    for (const [name, input] of Object.entries(this.inputs)) {
      if (name === 'errors') input.checked = !!this.filters.errors
      else if (input.value !== this.filters[name]) input.value = this.filters[name]
    }
    this.draw()
    this.open(path[0])
  }

  // Opens the message with this number now, or once it arrives.
  open(seq) {
    const item = this.book.bySeq.get(Number(seq))
    this.wanted = seq && !item && !this.feed.loaded ? seq : null
    if (item && item === this.opened) return
    this.opened = item
    this.root.firstChild.classList.toggle('open', !!item)
    this.detail.hidden = !item
    if (!item) return
    this.follow = false
    this.rows.choose(item)
    put(this.detail, new Detail(this, item).node)
    this.drawStatus()
  }

  step(steps) {
    // So that Enter opens the selected row.
    this.rows.node.focus()
    const item = this.rows.move(steps)
    if (!item || !this.opened) return
    history.replaceState(history.state, '', this.hash(item))
    this.open(item.entry.seq)
  }

  pause() {
    this.paused = !this.paused
    this.pausedAt = this.book.items.length
    this.draw()
  }

  setFollow(on) {
    if (on === this.follow || this.recording) return
    this.follow = on
    this.drawStatus()
  }

  toEnd() {
    this.follow = !this.follow
    this.draw()
  }

  pair() {
    this.paired = !this.paired
    this.ctx.store.set('traffic-paired', this.paired)
    this.draw()
  }

  clear(since = this.book.items.at(-1)?.entry.seq ?? 0) {
    this.since = since
    this.draw()
  }

  async export() {
    if (this.exporting) return this.exporting.abort()
    this.exporting = new AbortController()
    const progress = (share) => put(this.exporter, `Stop (${Math.round(share * 100)} %)`)
    const {blob, without} = await writeRecording(this.feed, this.shown, {signal: this.exporting.signal, progress})
    if (!this.exporting.signal.aborted) {
      const address = URL.createObjectURL(blob)
      const link = h('a', {download: `docent-traffic-${new Date().toISOString().slice(0, 19).replaceAll(':', '')}.jsonl`})
      link.href = address
      link.click()
      setTimeout(() => URL.revokeObjectURL(address), 10_000)
      this.ctx.toast(`${this.shown.length} messages exported${without ? `, ${without} without payload` : ''}.`, 'ok')
    }
    this.exporting = null
    put(this.exporter, 'Export')
  }

  async import() {
    const [file] = this.file.files
    if (!file) return
    try {
      this.recording = {name: file.name, ...await readRecording(file)}
    } catch (error) {
      this.ctx.toast(error.message, 'bad')
    }
    this.file.value = ''
    this.renew()
  }

  close() {
    this.recording = null
    this.renew()
  }

  renew() {
    this.ctx.go(this.hash())
    this.open()
    this.drawBanner()
    this.draw()
  }

  unmount() {
    this.stop()
    this.keys()
    clearTimeout(this.timer)
    this.rows.resized.disconnect()
    this.exporting?.abort()
  }
}

// One message: its fields, its payload, its call.
class Detail {
  constructor(view, item) {
    Object.assign(this, {view, item, ctx: view.ctx})
    const {entry} = item
    this.payload = h('div', h('p.quiet', 'Loading…'))
    this.call = h('div.tr-call')
    const sends = entry.kind === 'request' && (entry.hop === 'client') === (entry.direction === 'in')
    this.node = h('div.col', h('div.row', h('h2.grow', [entry.method ?? entry.kind, entry.target].filter(Boolean).join(' · ')),
      h('a.button.small', {href: view.hash()}, 'Close')),
    h('div.toolbar', sends && h('button.small', {onclick: () => this.replay()}, 'Replay'),
      failed(entry) && h('a.button.small', {href: this.ctx.link('errors', String(entry.seq))}, 'Explain the error')),
    h('h3', 'Payload'), this.payload, h('h3', 'Call'), this.call, h('h3', 'Fields'), h('table.table', h('tbody', this.fields())))
    this.showPayload()
    this.showCall()
  }

  fields() {
    const {entry} = this.item
    const added = this.view.book.added(this.item)
    const values = {...entry, at: `${clock(entry.at)} UTC`, micros: took(entry.micros), bytes: size(entry.bytes), id: idText(entry.id),
      added: added === null ? '' : took(added), has_payload: entry.has_payload ? 'yes' : 'no'}
    const names = {at: 'time', micros: 'took', added: 'added by docent', has_payload: 'payload captured', parent: 'caused by message',
      answers: 'response to message', about: 'about message', via: 'transport', era: 'revision', peer: 'peer'}
    return Object.entries(values).filter(([, value]) => value !== null && value !== '')
      .map(([name, value]) => h('tr', h('th', {scope: 'row'}, names[name] ?? name), h('td.mono', value)))
  }

  // The payload as {payload, cut, value}; value is undefined if it is not complete JSON.
  async message() {
    this.loading ??= this.view.feed.message(this.item)
    const loaded = await this.loading
    return {...loaded, value: loaded.payload ? parse(loaded.payload) : undefined}
  }

  async showPayload() {
    try {
      const {payload, cut, value} = await this.message()
      if (!payload) put(this.payload, h('p.quiet', 'Not captured. Turn on Payloads above to capture later messages.'))
      else if (value === undefined) put(this.payload, cut && h('p.warn', 'Truncated at 256 KB.'), h('pre.code', {tabindex: 0}, payload))
      else put(this.payload, (await import('../jsonview.js')).tree(value, {open: 4}))
    } catch (error) {
      put(this.payload, h('p.bad', error.message))
    }
  }

  async showCall() {
    const own = this.view.book.calls.get(this.item.root)?.map((item) => item.entry) ?? [this.item.entry]
    const kept = this.view.recording ? null : await this.ctx.api.get(`api/call?seq=${this.item.entry.seq}`).catch(() => null)
    const entries = kept?.entries?.length ? kept.entries : own
    put(this.call, h('div.tr-draw', {tabindex: 0, role: 'group', 'aria-label': 'Call sequence'}, sequence(entries)))
  }

  // Resends the same method and params after confirmation.
  async replay() {
    const {ctx} = this
    const {value} = await this.message().catch(() => ({}))
    if (!value?.method) {
      return ctx.toast('The payload was not fully captured. Turn on Payloads, repeat the call, then replay it.', 'warn')
    }
    const params = {...value.params}
    // The page's client sets its own.
    delete params._meta
    const text = JSON.stringify({method: value.method, params}, null, 2)
    const body = h('div.col', h('p', `This is sent to the connected server (${ctx.mcp.server?.name ?? 'unknown'}).`),
      text.includes('[redacted:') && h('p.warn', 'Secrets are redacted and sent as shown.'), h('pre.code', {tabindex: 0}, text))
    const isCall = value.method === 'tools/call'
    const agreed = await ctx.dialog({title: 'Replay this request?', body, actions: [{label: 'Cancel', value: ''},
      ...(isCall ? [{label: 'Open in Tools', value: 'open'}] : []), {label: 'Send', value: 'send', primary: true}]})
    if (agreed === 'open') {
      return ctx.go(ctx.link('tools', String(params.name), {args: JSON.stringify(params.arguments ?? {})}))
    }
    if (agreed !== 'send') return
    const answer = await ctx.mcp.request(value.method, params).then((result) => ({result}),
      ({code, message, data}) => ({error: {code, message, data}}))
    const {tree} = await import('../jsonview.js')
    await ctx.dialog({title: answer.error ? 'Error response' : 'Response', body: h('div', tree(answer, {open: 4})),
      actions: [{label: 'Close', value: '', primary: true}]})
  }
}

export default {
  id: 'traffic', title: 'Traffic', icon: '⇄',
  mount(root, ctx) {
    const view = new Traffic(root, ctx)
    return {route: (route) => view.route(route), unmount: () => view.unmount()}
  },
}
