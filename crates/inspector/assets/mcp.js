// Speaks MCP with one server through docent's `line`: the handshake of each era, requests with progress and
// cancellation, questions of the server, and a connection that comes back by itself. Requests are never sent twice.
import {lineAddress, read} from './api.js'

export const STATELESS = '2026-07-28'
export const SESSION = '2025-11-25'
export const REVISIONS = [STATELESS, SESSION, '2025-06-18', '2025-03-26', '2024-11-05']

// Refusals of `initialize` that a server without handshake gives.
const NO_HANDSHAKE = [-32601, -32600, -32602, -32022]
const URL_FIRST = -32042
const META = 'io.modelcontextprotocol/'
const LISTEN = 'subscriptions/listen'
const PAGES = 1000
const ROUNDS = 16
const KEPT = 500
const NOTES = 200
// A server that ends this often before it is ready is not started again by itself.
const TRIES = 5
const TEXTS = ['name', 'title', 'description', 'uri', 'uriTemplate', 'mimeType']

const ABLE = {
  sampling: {},
  elicitation: {form: {}, url: {}},
  roots: {listChanged: true},
  extensions: {[`${META}ui`]: {mimeTypes: ['text/html;profile=mcp-app']}},
}

// Why a request has no result. `code` is null where no answer came; `request` is {method, params}.
export class McpError extends Error {
  constructor({code = null, message, data}, request) {
    super(typeof message === 'string' && message ? message : 'The server does not say why.')
    this.name = 'McpError'
    this.code = code
    this.data = data
    this.request = request
  }
}

export class Client {
  state = 'connecting'
  why = ''
  era = null
  server = {}
  capabilities = {}
  instructions = ''
  exchanges = []
  // When the next attempt is made (ms since 1970), or null.
  retryAt = null
  // Addresses of resources whose changes are wanted; kept over reconnects.
  watched = new Set()
  ask = () => Promise.reject(new McpError({code: -32601, message: 'Nobody is there to answer.'}))

  #socket = null
  #options = {}
  #pending = new Map()
  #asked = new Map()
  #listeners = new Map()
  #last = 0
  #attempt = 0
  #timer = 0
  #listening = null

  constructor(version = '0') {
    this.info = {name: 'docent-inspector', version}
  }

  // Listens to a notification's method, '*' for all, 'state', 'exchange' (one has ended), 'noise' or 'stderr'.
  // Listeners get (params, message). Returns what ends it.
  on(method, listener) {
    if (!this.#listeners.has(method)) this.#listeners.set(method, new Set())
    this.#listeners.get(method).add(listener)
    return () => this.#listeners.get(method).delete(listener)
  }

  #emit(method, ...told) {
    for (const listener of [...(this.#listeners.get(method) ?? [])]) {
      try {
        listener(...told)
      } catch (error) {
        reportError(error)
      }
    }
  }

  #become(state, why = '') {
    Object.assign(this, {state, why})
    this.#emit('state', this)
  }

  // Opens the line to a target, and keeps it open. Options: target, revision ('auto' or one), agreed.
  open(options) {
    this.#options = {...this.#options, ...options}
    this.#attempt = 0
    this.watched.clear()
    this.#connect()
  }

  // Tries now what would be tried later.
  retry() {
    this.#attempt = 0
    this.#connect()
  }

  close(why) {
    clearTimeout(this.#timer)
    this.retryAt = null
    this.#drop(why)
    this.#become('closed', why)
  }

  #connect() {
    clearTimeout(this.#timer)
    this.retryAt = null
    this.#drop('The connection was opened anew.')
    const {target, agreed} = this.#options
    const socket = new WebSocket(lineAddress(target, agreed))
    this.#socket = socket
    const mine = (listener) => (event) => socket === this.#socket && listener(event)
    let why = null
    socket.onmessage = mine(({data}) => {
      const frame = this.#parse(data)
      if ('closed' in frame) why = String(frame.closed)
      else this.#frame(frame)
    })
    socket.onopen = mine(() => this.#shake())
    socket.onclose = mine(() => this.#lost(why))
    this.#become('connecting')
  }

  #parse(data) {
    try {
      return read(data) ?? {}
    } catch {
      return {noise: String(data)}
    }
  }

  // Everything that waits on the present line ends.
  #drop(why) {
    const socket = this.#socket
    this.#socket = null
    socket?.close()
    for (const id of [...this.#pending.keys()]) this.#settle(id, {error: {message: why}})
    for (const question of this.#asked.values()) question.abort()
    this.#asked.clear()
    this.#listening = null
  }

  #lost(why) {
    const told = why ?? (this.state === 'ready' ? 'The connection to docent is lost.' : 'docent does not answer.')
    this.#drop(told)
    this.#attempt += 1
    if (why === null || this.#attempt < TRIES) {
      const wait = Math.min(15000, 500 * 2 ** Math.min(this.#attempt - 1, 6))
      this.retryAt = Date.now() + wait
      this.#timer = setTimeout(() => this.#connect(), wait)
    }
    this.#become('closed', told)
  }

  async #shake() {
    const socket = this.#socket
    this.era = null
    const slow = setTimeout(() => this.#become('connecting', 'The server has not answered for 10 s.'), 10000)
    try {
      const opened = await this.#greet(this.#options.revision ?? 'auto')
      if (socket !== this.#socket) return
      this.#opened(opened)
    } catch (error) {
      if (socket !== this.#socket) return
      const code = error.code === null ? '' : ` (${error.code})`
      this.close(`The handshake failed: ${error.message}${code}`)
    } finally {
      clearTimeout(slow)
    }
  }

  async #greet(revision) {
    if (revision === STATELESS) return this.#discover()
    try {
      return await this.#initialize(revision === 'auto' ? SESSION : revision)
    } catch (error) {
      const refused = NO_HANDSHAKE.includes(error.code) || (error.code === null && /\b400\b/.test(error.message))
      if (revision !== 'auto' || !refused) throw error
      return this.#discover().catch(() => Promise.reject(error))
    }
  }

  async #initialize(revision) {
    const params = {protocolVersion: revision, capabilities: ABLE, clientInfo: this.info}
    const result = await this.#send('initialize', params, {})
    this.era = typeof result?.protocolVersion === 'string' ? result.protocolVersion : revision
    this.notify('notifications/initialized')
    return result
  }

  async #discover() {
    this.era = STATELESS
    return this.#send('server/discover', {}, {})
  }

  #opened(result) {
    const about = result?.serverInfo ?? result?._meta?.[`${META}serverInfo`]
    this.server = about && typeof about === 'object' ? withTexts(about, ['name', 'title', 'version']) : {}
    this.capabilities = result?.capabilities && typeof result.capabilities === 'object' ? result.capabilities : {}
    this.instructions = typeof result?.instructions === 'string' ? result.instructions : ''
    this.#attempt = 0
    this.#become('ready')
    if (this.era === STATELESS) this.#listen()
    else for (const uri of this.watched) this.request('resources/subscribe', {uri}).catch(() => {})
  }

  #frame(frame) {
    if ('m' in frame) for (const message of [frame.m].flat()) this.#message(message)
    else if ('lost' in frame) this.#settle(frame.lost?.id, {error: {message: String(frame.lost?.why ?? 'No answer.')}})
    else if ('noise' in frame) this.#emit('noise', String(frame.noise))
    else if ('stderr' in frame) this.#emit('stderr', String(frame.stderr))
    else if (frame.session === 'lost') {
      for (const id of [...this.#pending.keys()]) this.#settle(id, {error: {message: 'The session was lost.'}})
      this.#become('connecting', 'The server has lost the session.')
      this.#shake()
    }
  }

  #message(message) {
    if (message === null || typeof message !== 'object') return this.#emit('noise', JSON.stringify(message))
    if (typeof message.method === 'string') {
      return 'id' in message ? this.#question(message) : this.#told(message)
    }
    const pending = this.#pending.get(message.id)
    if (!pending) return this.#emit('noise', `An answer to no request: ${JSON.stringify(message).slice(0, 500)}`)
    // The plain dialect sends pieces of an answer under the request's id.
    if (this.era === '1.0' && message.result?.partial === true) return pending.onPartial?.(message.result)
    this.#settle(message.id, message)
  }

  #told(message) {
    const params = message.params ?? {}
    const {method} = message
    const pending = this.#pending.get(params.progressToken ?? params.requestId)
    // A note without an address belongs to the only call that it can belong to.
    const calls = [...this.#pending.values()].filter((one) => one.request.method !== LISTEN)
    const only = calls.length === 1 ? calls[0] : null
    const notes = (pending ?? only)?.exchange.notes
    if (notes && notes.length < NOTES) notes.push({at: Date.now(), method, params})
    if (method === 'notifications/progress') pending?.onProgress?.(params)
    else if (/\/partial$/.test(method)) (pending ?? only)?.onPartial?.(params)
    else if (method === 'notifications/cancelled') this.#asked.get(params.requestId)?.abort()
    this.#emit(method, params, message)
    this.#emit('*', params, message)
  }

  // What the server asks is answered by the person, who may take long or never come back to it.
  async #question({id, method, params}) {
    if (method === 'ping') return this.#write({id, result: {}})
    const question = new AbortController()
    const socket = this.#socket
    this.#asked.set(id, question)
    let answer
    try {
      answer = {result: await this.ask(method, params ?? {}, question.signal)}
    } catch (error) {
      answer = {error: {code: error.code ?? -32603, message: error.message}}
    }
    this.#asked.delete(id)
    if (socket === this.#socket && !question.signal.aborted) this.#write({id, ...answer})
  }

  #write(message) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify({jsonrpc: '2.0', ...message}))
  }

  notify(method, params) {
    this.#write({method, params})
  }

  #send(method, params, {signal, onProgress, onPartial}) {
    const request = {method, params}
    if (signal?.aborted) return Promise.reject(new McpError({message: 'Cancelled.'}, request))
    if (this.#socket?.readyState !== WebSocket.OPEN) {
      return Promise.reject(new McpError({message: this.why || 'Not connected.'}, request))
    }
    const id = (this.#last += 1)
    const sent = this.#withMeta(method, params, onProgress || method === 'tools/call' ? id : null)
    const exchange = {at: Date.now(), ms: null, id, method, params: sent, notes: []}
    this.exchanges.push(exchange)
    if (this.exchanges.length > KEPT) this.exchanges.shift()
    return new Promise((resolve, reject) => {
      const cancel = () => {
        this.notify('notifications/cancelled', {requestId: id, reason: 'The person cancelled it.'})
        exchange.cancelled = true
        this.#settle(id, {error: {message: 'Cancelled.'}})
      }
      signal?.addEventListener('abort', cancel)
      const end = () => signal?.removeEventListener('abort', cancel)
      this.#pending.set(id, {exchange, request, onProgress, onPartial, resolve, reject, end, start: performance.now()})
      this.#write({id, method, params: Object.keys(sent).length ? sent : undefined})
    })
  }

  #withMeta(method, params, token) {
    const meta = {...params?._meta}
    if (token !== null) meta.progressToken = token
    if (this.era === STATELESS) {
      meta[`${META}protocolVersion`] ??= STATELESS
      meta[`${META}clientInfo`] ??= this.info
      meta[`${META}clientCapabilities`] ??= ABLE
      if (method === 'tools/call' && this.capabilities.logging) meta[`${META}logLevel`] ??= 'info'
    }
    return Object.keys(meta).length ? {...params, _meta: meta} : {...params}
  }

  #settle(id, {result, error}) {
    const pending = this.#pending.get(id)
    if (!pending) return
    this.#pending.delete(id)
    pending.end()
    const {exchange, request} = pending
    exchange.ms = performance.now() - pending.start
    if (error !== undefined) {
      exchange.error = error
      pending.reject(new McpError(error ?? {}, request))
    } else {
      exchange.result = result ?? {}
      pending.resolve(exchange.result)
    }
    this.#emit('exchange', exchange)
  }

  // Asks the server. While the connection is being made it waits; without one it fails.
  // Progress goes to onProgress({progress, total, message}), pieces of the answer to onPartial({content}).
  async request(method, params = {}, options = {}) {
    await this.#ready()
    let asked = params
    for (let round = 0; round < ROUNDS; round += 1) {
      const result = await this.#send(method, asked, options).catch((error) => this.#visitFirst(error))
      if (result.resultType !== 'input_required') return result
      const inputResponses = {}
      for (const [key, one] of Object.entries(result.inputRequests ?? {})) {
        inputResponses[key] = await this.ask(String(one?.method), one?.params ?? {}, options.signal)
      }
      asked = {...params, inputResponses}
      if (result.requestState !== undefined) asked.requestState = result.requestState
    }
    const message = `The server asked ${ROUNDS} times and did not answer: it may be at fault.`
    throw new McpError({message}, {method, params})
  }

  // Some calls fail until the person has visited an address: it is offered, and the failure stands.
  async #visitFirst(error) {
    const visits = error.code === URL_FIRST ? error.data?.elicitations : null
    if (Array.isArray(visits)) for (const one of visits.slice(0, ROUNDS)) await this.ask('elicitation/create', one)
    throw error
  }

  #ready() {
    if (this.state !== 'connecting') return Promise.resolve()
    return new Promise((resolve) => {
      const off = this.on('state', () => {
        if (this.state === 'connecting') return
        off()
        resolve()
      })
    })
  }

  // A whole list, page by page; empty where the server has no such method. Entries are objects with texts as texts.
  async list(method, key) {
    const all = []
    const seen = new Set()
    let cursor
    for (let page = 0; page < PAGES; page += 1) {
      let result
      try {
        result = await this.request(method, cursor === undefined ? {} : {cursor})
      } catch (error) {
        if (error.code === -32601 && page === 0) return []
        throw error
      }
      const entries = Array.isArray(result[key]) ? result[key] : []
      for (const one of entries) if (one && typeof one === 'object') all.push(withTexts({name: '', ...one}, TEXTS))
      cursor = result.nextCursor
      if (typeof cursor !== 'string' || cursor === '') return all
      if (seen.has(cursor)) throw new McpError({message: `${method} gives the same page twice.`}, {method})
      seen.add(cursor)
    }
    throw new McpError({message: `${method} has no end: ${PAGES} pages were read.`}, {method})
  }

  // Asks to be told when a resource changes, or no longer.
  async watch(uri, wanted) {
    if (this.era !== STATELESS) await this.request(wanted ? 'resources/subscribe' : 'resources/unsubscribe', {uri})
    if (wanted) this.watched.add(uri)
    else this.watched.delete(uri)
    if (this.era === STATELESS) this.#listen()
  }

  // The stateless era has one long request for all that is wanted: a new one takes the place of the last.
  #listen() {
    this.#listening?.abort()
    const notifications = {}
    for (const list of ['tools', 'resources', 'prompts']) {
      if (this.capabilities[list]?.listChanged === true) notifications[`${list}ListChanged`] = true
    }
    if (this.watched.size) notifications.resourceSubscriptions = [...this.watched]
    if (!Object.keys(notifications).length) return
    this.#listening = new AbortController()
    const options = {signal: this.#listening.signal}
    this.#send(LISTEN, {notifications}, options).catch(() => {})
  }
}

// Fields that views show as text are text, whatever the server made of them.
function withTexts(entry, names) {
  for (const name of names) {
    if (entry[name] === null) delete entry[name]
    else if (entry[name] !== undefined && typeof entry[name] !== 'string') entry[name] = JSON.stringify(entry[name])
  }
  return entry
}
