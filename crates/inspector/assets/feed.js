// Follows the traffic that docent records and keeps the newest entries for all views; reads and writes recordings.
import {read} from './api.js'

const KEPT = 20_000
const MOST_LINES = 50_000
const MOST_FILE = 256 << 20
const MOST_EXPORT = 128 << 20
const KINDS = ['request', 'response', 'error', 'notification', 'noise', 'opened', 'closed', 'lost']

/** Entries in arrival order, grouped by call: items are {entry, root, cause, payload?}. */
export class Book {
  items = []
  bySeq = new Map()
  calls = new Map()

  constructor(most) {
    this.most = most
  }

  add(entry, payload) {
    const cause = this.bySeq.get(entry.answers ?? entry.about ?? entry.parent)
    const item = {entry, cause, root: cause?.root ?? entry.parent ?? entry.answers ?? entry.about ?? entry.seq, payload}
    this.items.push(item)
    this.bySeq.set(entry.seq, item)
    const call = this.calls.get(item.root)
    if (call) call.push(item)
    else this.calls.set(item.root, [item])
    return item
  }

  // Drops the oldest entries in batches: removing one from the front of a long list is not free.
  trim() {
    if (this.items.length < this.most + 500) return
    for (const item of this.items.splice(0, this.items.length - this.most)) {
      this.bySeq.delete(item.entry.seq)
      item.cause = null
      const call = this.calls.get(item.root)
      call.shift()
      if (!call.length) this.calls.delete(item.root)
    }
  }

  // The client's request at the top of the call that an item belongs to.
  top(item) {
    return this.bySeq.get(item.root)
  }

  // The latency that docent added: the call's time minus the time a server worked on it.
  added({entry, root}) {
    if (entry.hop !== 'client' || !entry.answers || entry.micros === null) return null
    const spans = this.calls.get(root).map((item) => item.entry)
      .filter((other) => other.hop === 'server' && other.answers && other.micros !== null)
      .map(({at, micros}) => [at - micros, at]).sort((a, b) => a[0] - b[0])
    if (!spans.length) return null
    let [worked, until] = [0, 0]
    for (const [from, to] of spans) {
      worked += Math.max(0, to - Math.max(from, until))
      until = Math.max(until, to)
    }
    return Math.max(0, entry.micros - worked)
  }
}

class Feed {
  book = new Book(KEPT)
  problem = ''
  missed = 0
  loaded = false
  #listeners = new Set()
  #after = 0
  #running = false

  constructor(ctx) {
    this.ctx = ctx
    this.capture = ctx.about?.capture ?? {on: false, payloads: false}
  }

  // Calls `changed` on every change until unsubscribed; polls only while there are subscribers.
  on(changed) {
    this.#listeners.add(changed)
    if (!this.#running) this.#follow()
    return () => this.#listeners.delete(changed)
  }

  async #follow() {
    this.#running = true
    while (this.#listeners.size) {
      const began = performance.now()
      let pause = 0
      try {
        const page = await this.ctx.api.get(`api/traffic?after=${this.#after}${this.loaded ? '&wait=1' : ''}`)
        this.#take(page)
        if (!page.entries.length && performance.now() - began < 1000) pause = this.loaded ? 500 : 0
        this.loaded = true
        this.problem = ''
      } catch (error) {
        this.problem = error.message
        pause = 2000
      }
      for (const changed of this.#listeners) changed()
      if (pause) await new Promise((resolve) => setTimeout(resolve, pause))
    }
    this.#running = false
  }

  #take({entries, first, next, capture}) {
    if (next < this.#after) {
      // docent was restarted and its sequence numbers start over.
      this.book = new Book(KEPT)
      this.#after = 0
      return
    }
    if (this.#after && first > this.#after + 1) this.missed += first - this.#after - 1
    for (const entry of entries) this.book.add(entry)
    this.book.trim()
    this.#after = next
    this.capture = capture
  }

  async setCapture(capture) {
    this.capture = await this.ctx.api.post('api/capture', {...capture})
    for (const changed of this.#listeners) changed()
  }

  // A message as text, and whether it was truncated. A recording contains its own payloads.
  async message({entry, payload}) {
    if (payload !== undefined || !entry.has_payload) return {payload: payload ?? null}
    return this.ctx.api.get(`api/message?seq=${entry.seq}`)
  }
}

const feeds = new WeakMap()

/** The feed shared by all views. */
export function feedOf(ctx) {
  if (!feeds.has(ctx.mcp)) feeds.set(ctx.mcp, new Feed(ctx))
  return feeds.get(ctx.mcp)
}

/** Reads a recording: {book, bad, left} counts `bad` invalid lines and `left` lines past the limit. */
export async function readRecording(file) {
  if (file.size > MOST_FILE) throw new Error('The file is over 256 MB. Split it and open one part.')
  const lines = (await file.text()).split('\n').filter((line) => line.trim())
  const book = new Book(MOST_LINES)
  let bad = 0
  for (const line of lines.slice(0, MOST_LINES)) {
    const found = parse(line)
    if (found && Number.isSafeInteger(found.seq) && KINDS.includes(found.kind) && !book.bySeq.has(found.seq)) {
      book.add(clean(found), typeof found.payload === 'string' ? found.payload : null)
    } else bad += 1
  }
  return {book, bad, left: Math.max(0, lines.length - MOST_LINES)}
}

// Coerces an entry to the types that the page relies on; the file is untrusted.
function clean(found) {
  const entry = {id: found.id ?? null, has_payload: typeof found.payload === 'string'}
  for (const name of ['seq', 'at', 'connection', 'answers', 'about', 'micros', 'parent', 'attempt', 'bytes', 'code']) {
    entry[name] = Number.isFinite(found[name]) ? found[name] : null
  }
  for (const name of ['peer', 'hop', 'via', 'direction', 'kind', 'method', 'target', 'era', 'text']) {
    entry[name] = typeof found[name] === 'string' ? found[name] : null
  }
  return entry
}

/** Parses untrusted JSON; undefined if it is invalid. */
export function parse(text) {
  try {
    return read(text)
  } catch {
    return undefined
  }
}

/** Writes items as a recording: {blob, without}, where `without` counts omitted payloads. */
export async function writeRecording(feed, items, {signal, progress}) {
  const lines = new Array(items.length)
  let [next, bytes, without] = [0, 0, 0]
  const work = async () => {
    while (next < items.length && !signal.aborted) {
      const at = next++
      const line = {...items[at].entry}
      if (line.has_payload && bytes < MOST_EXPORT) {
        const {payload} = await feed.message(items[at]).catch(() => ({payload: null}))
        bytes += payload?.length ?? 0
        line.payload = payload
      }
      if (line.has_payload && !line.payload) without += 1
      lines[at] = `${JSON.stringify(line)}\n`
      if (at % 200 === 0) progress(at / items.length)
    }
  }
  await Promise.all(Array.from({length: 6}, work))
  return {blob: new Blob(lines, {type: 'application/jsonl'}), without}
}

export const failed = ({kind, code}) => kind === 'error' || kind === 'lost' || code === -1

/** The sender and receiver of a message. */
export function ends({hop, direction, peer}) {
  const other = peer ?? hop
  return direction === 'in' ? [other, 'docent'] : ['docent', other]
}

export function clock(at) {
  const date = new Date(at / 1000)
  return Number.isNaN(date.getTime()) ? '' : date.toISOString().slice(11, 23)
}

export function took(micros) {
  if (micros === null || micros === undefined) return ''
  if (micros < 1000) return `${Math.round(micros)} µs`
  return micros < 1e6 ? `${(micros / 1000).toFixed(micros < 1e4 ? 1 : 0)} ms` : `${(micros / 1e6).toFixed(1)} s`
}

export function size(bytes) {
  if (bytes === null || bytes === undefined) return ''
  return bytes < 1000 ? `${bytes} B` : bytes < 1e6 ? `${(bytes / 1000).toFixed(1)} KB` : `${(bytes / 1e6).toFixed(1)} MB`
}

/** An id for display: 7, "a". */
export const idText = (id) => (id === null || id === undefined ? '' : typeof id === 'string' ? id : JSON.stringify(id))
