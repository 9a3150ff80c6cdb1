// Past calls and saved calls, kept in a bounded store across reloads. Results
// too large for the store are kept in memory until the page closes.
import {read} from './api.js'

export const MOST_CALLS = 100
export const MOST_SAVED = 100
const LARGEST_RESULT = 60_000
const LARGEST_ARGUMENTS = 60_000
const MOST_KEPT = 1_500_000
const MOST_HELD = 20

const histories = new WeakMap()

/** The history of a store; one per store, so that results in memory outlive a view. */
export function historyOf(store) {
  if (!histories.has(store)) histories.set(store, new History(store))
  return histories.get(store)
}

const sizeOf = (value) => (value === undefined ? 0 : JSON.stringify(value).length)

/** A call is {id, at, ms, tool, args, era, result?, error?: {code, message, data}, left?: bytes not stored}. */
export class History {
  #store
  #held = new Map()

  constructor(store) {
    this.#store = store
  }

  // Marks stored data as parsed, because it came from a server.
  #list(key) {
    const kept = this.#store.get(key, [])
    return Array.isArray(kept) ? read(JSON.stringify(kept)).filter((one) => one && typeof one === 'object') : []
  }

  /** Newest first; of one tool if a name is given. */
  calls(tool) {
    const all = this.#list('calls').map((call) => this.#held.get(call.id) ?? call)
    return tool === undefined ? all : all.filter((call) => call.tool === tool)
  }

  find(id) {
    return this.calls().find((call) => call.id === id) ?? null
  }

  // Rereads the store first: another tab may have added to it.
  add(call) {
    const whole = {...call, id: `${call.at}-${Math.random().toString(36).slice(2, 8)}`}
    const kept = bounded(whole)
    if (kept.left) this.#hold(whole)
    this.#store.set('calls', within([kept, ...this.#list('calls')]))
    return whole
  }

  #hold(call) {
    this.#held.set(call.id, call)
    for (const id of [...this.#held.keys()].slice(0, -MOST_HELD)) this.#held.delete(id)
  }

  // Clears the history of one tool, or all.
  forget(tool) {
    const left = tool === undefined ? [] : this.#list('calls').filter((call) => call.tool !== tool)
    this.#store.set('calls', left.length ? left : null)
  }

  saved(tool) {
    return this.#list('saved').filter((one) => tool === undefined || one.tool === tool)
  }

  // Names are unique per tool. Returns false if the arguments are too large to store.
  save(tool, name, args) {
    if (sizeOf(args) > LARGEST_ARGUMENTS) return false
    const others = this.#list('saved').filter((one) => one.tool !== tool || one.name !== name)
    this.#store.set('saved', [{tool, name, args}, ...others].slice(0, MOST_SAVED))
    return true
  }

  unsave(tool, name) {
    this.#store.set('saved', this.#list('saved').filter((one) => one.tool !== tool || one.name !== name))
  }
}

// A call without the parts that are too large to store.
function bounded(call) {
  const {result, error, args, ...rest} = call
  const [answer, given] = [sizeOf(result) + sizeOf(error), sizeOf(args)]
  const kept = {...rest, ...(given <= LARGEST_ARGUMENTS && {args})}
  if (answer <= LARGEST_RESULT) Object.assign(kept, result !== undefined && {result}, error !== undefined && {error})
  else if (error !== undefined) kept.error = {code: error.code, message: String(error.message).slice(0, 1000)}
  const left = (answer > LARGEST_RESULT ? answer : 0) + (given > LARGEST_ARGUMENTS ? given : 0)
  return left ? {...kept, left} : kept
}

function within(calls) {
  let room = MOST_KEPT
  return calls.slice(0, MOST_CALLS).filter((call) => (room -= sizeOf(call)) >= 0)
}
