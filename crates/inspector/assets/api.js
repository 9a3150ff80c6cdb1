// Asks docent's own side of the inspector, and reads JSON that others wrote.

// Objects that were read have this class, so that `h` never takes what a server said for properties.
class Read {}

// JSON.parse, with every object marked as read. Walks without recursion: depth is the sender's choice.
export function read(text) {
  const top = JSON.parse(text)
  const waiting = [top]
  while (waiting.length) {
    const value = waiting.pop()
    if (value === null || typeof value !== 'object') continue
    if (!Array.isArray(value)) Object.setPrototypeOf(value, Read.prototype)
    for (const one of Object.values(value)) if (typeof one === 'object') waiting.push(one)
  }
  return top
}

// Paths count from the page's own address, which holds the token; `api/` may be left out.
function url(path) {
  return new URL(`api/${path.replace(/^api\//, '')}`, document.baseURI).href
}

async function ask(path, options) {
  let answer
  try {
    answer = await fetch(url(path), options)
  } catch (error) {
    if (error.name === 'AbortError') throw error
    throw new Error('docent does not answer. Check that it still runs.')
  }
  const text = await answer.text()
  let value = null
  try {
    value = read(text)
  } catch {
    if (answer.ok) throw new Error(`docent's answer to ${path} is no JSON.`)
  }
  if (answer.ok) return value
  if (typeof value?.error === 'string') throw new Error(value.error)
  if (answer.status === 403 || answer.status === 404) {
    throw new Error('docent does not know this page. If it was started again, open the address that it prints.')
  }
  throw new Error(`docent answers with status ${answer.status}.`)
}

export const api = {
  url,
  get: (path, signal) => ask(path, {signal, cache: 'no-store'}),
  post: (path, body) =>
    ask(path, {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body ?? {})}),
}

// The address of the WebSocket to a target.
export function lineAddress(target, agreed) {
  const address = new URL('line', document.baseURI)
  address.protocol = address.protocol === 'https:' ? 'wss:' : 'ws:'
  address.searchParams.set('target', target)
  if (agreed) address.searchParams.set('agreed', '1')
  return address.href
}
