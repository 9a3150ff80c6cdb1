// An MCP client for one server through docent's `line` socket: the handshake of each era, requests with progress and
// cancellation, server requests, and automatic reconnection. Requests are never sent twice.
import {lineAddress, read} from './api.js'

export const STATELESS = '2026-07-28'
export const SESSION = '2025-11-25'
export const REVISIONS = [STATELESS, SESSION, '2025-06-18', '2025-03-26', '2024-11-05']

// Errors to `initialize` from a server without a handshake.
const NO_HANDSHAKE = [-32601, -32600, -32602, -32022]
const URL_FIRST = -32042
const META = 'io.modelcontextprotocol/'
const LISTEN = 'subscriptions/listen'
const PAGES = 1000
const ROUNDS = 16
const KEPT = 500
const NOTES = 200
// After this many failures before it is ready, a server is not restarted automatically.
const TRIES = 5
const TEXTS = ['name', 'title', 'description', 'uri', 'uriTemplate', 'mimeType']

const ABLE = {
  sampling: {},
  elicitation: {form: {}, url: {}},
  roots: {listChanged: true},
  extensions: {[`${META}ui`]: {mimeTypes: ['text/html;profile=mcp-app']}},
}

// A failed request. `code` is null if no response came; `request` is {method, params}.
export class McpError extends Error {
  constructor({code = null, message, data}, request) {
    super(typeof message === 'string' && message ? message : 'The server gave no reason.')
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
  // Time of the next attempt (ms since 1970), or null.
  retryAt = null
  // URIs of subscribed resources; kept across reconnects.
  watched = new Set()
  ask = () => Promise.reject(new McpError({code: -32601, message: 'No handler for server requests.'}))

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

  // Subscribes to a notification's method, '*' for all, 'state', 'exchange' (one has ended), 'noise' or 'stderr'.
  // Listeners get (params, message). Returns the function that unsubscribes.
  on(method, listener) {
    if (!this.#listeners.has(method)) this.#listeners.set(method, new Set())
    this.#listeners.get(method).add(listener)
    return () => this.#listeners.get(method).delete(listener)
  }

  #emit(method, ...args) {
    for (const listener of [...(this.#listeners.get(method) ?? [])]) {
      try {
        listener(...args)
      } catch (error) {
        reportError(error)
      }
    }
  }

  #become(state, why = '') {
    Object.assign(this, {state, why})
    this.#emit('state', this)
  }

  // Opens the connection to a target and keeps it open. Options: target, revision ('auto' or one), agreed.
  open(options) {
    this.#options = {...this.#options, ...options}
    this.#attempt = 0
    this.watched.clear()
    this.#connect()
  }

  // Retries the connection now instead of later.
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
    this.#drop('The connection was reopened.')
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

  // Ends everything that waits on the current connection.
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
    const reason = why ?? (this.state === 'ready' ? 'Lost the connection to docent.' : 'docent is not responding.')
    this.#drop(reason)
    this.#attempt += 1
    if (why === null || this.#attempt < TRIES) {
      const wait = Math.min(15000, 500 * 2 ** Math.min(this.#attempt - 1, 6))
      this.retryAt = Date.now() + wait
      this.#timer = setTimeout(() => this.#connect(), wait)
    }
    this.#become('closed', reason)
  }

  async #shake() {
    const socket = this.#socket
    this.era = null
    const slow = setTimeout(() => this.#become('connecting', 'The server has not responded for 10 s.'), 10000)
    try {
      const opened = await this.#greet(this.#options.revision ?? 'auto')
      if (socket !== this.#socket) return
      this.#opened(opened)
    } catch (error) {
      if (socket !== this.#socket) return
      const code = error.code === null ? '' : ` (${error.code})`
      this.close(`Handshake failed: ${error.message}${code}`)
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
    else if ('lost' in frame) this.#settle(frame.lost?.id, {error: {message: String(frame.lost?.why ?? 'No response.')}})
    else if ('noise' in frame) this.#emit('noise', String(frame.noise))
    else if ('stderr' in frame) this.#emit('stderr', String(frame.stderr))
    else if (frame.session === 'lost') {
      for (const id of [...this.#pending.keys()]) this.#settle(id, {error: {message: 'The session was lost.'}})
      this.#become('connecting', 'The server lost the session.')
      this.#shake()
    }
  }

  #message(message) {
    if (message === null || typeof message !== 'object') return this.#emit('noise', JSON.stringify(message))
    if (typeof message.method === 'string') {
      return 'id' in message ? this.#question(message) : this.#notification(message)
    }
    const pending = this.#pending.get(message.id)
    if (!pending) return this.#emit('noise', `A response without a request: ${JSON.stringify(message).slice(0, 500)}`)
    // The plain dialect sends partial results under the request's id.
    if (this.era === '1.0' && message.result?.partial === true) return pending.onPartial?.(message.result)
    this.#settle(message.id, message)
  }

  #notification(message) {
    const params = message.params ?? {}
    const {method} = message
    const pending = this.#pending.get(params.progressToken ?? params.requestId)
    // A notification without a token belongs to the only pending call.
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

  // The user answers server requests, which may take long or never happen.
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
        this.notify('notifications/cancelled', {requestId: id, reason: 'The user cancelled it.'})
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

  // Sends a request. Waits while connecting; fails without a connection.
  // Progress goes to onProgress({progress, total, message}), partial results to onPartial({content}).
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
    const message = `The server asked for input ${ROUNDS} times without responding. It may be broken.`
    throw new McpError({message}, {method, params})
  }

  // Some calls fail until the user has opened a URL: offers the URL, then rethrows the error.
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

  // Fetches a whole list, page by page; empty if the server lacks the method. Text fields of entries are strings.
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
      if (seen.has(cursor)) throw new McpError({message: `${method} returned the same page twice.`}, {method})
      seen.add(cursor)
    }
    throw new McpError({message: `${method} did not end after ${PAGES} pages.`}, {method})
  }

  // Subscribes to changes of a resource, or unsubscribes.
  async watch(uri, wanted) {
    if (this.era !== STATELESS) await this.request(wanted ? 'resources/subscribe' : 'resources/unsubscribe', {uri})
    if (wanted) this.watched.add(uri)
    else this.watched.delete(uri)
    if (this.era === STATELESS) this.#listen()
  }

  // The stateless era uses one long request for all subscriptions: a new one replaces the last.
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

// Converts the fields that views show as text to strings, whatever the server sent.
function withTexts(entry, names) {
  for (const name of names) {
    if (entry[name] === null) delete entry[name]
    else if (entry[name] !== undefined && typeof entry[name] !== 'string') entry[name] = JSON.stringify(entry[name])
  }
  return entry
}
