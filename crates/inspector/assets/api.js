// Calls docent's inspector API and parses untrusted JSON.

// Marks parsed objects, so that `h` never mistakes server data for element properties.
class Read {}

// Parses JSON and marks every object as parsed. Not recursive, because the sender controls the depth.
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

// Paths are relative to the page's address, which contains the token; `api/` is optional.
function url(path) {
  return new URL(`api/${path.replace(/^api\//, '')}`, document.baseURI).href
}

async function ask(path, options) {
  let answer
  try {
    answer = await fetch(url(path), options)
  } catch (error) {
    if (error.name === 'AbortError') throw error
    throw new Error('docent is not responding. Check that it is still running.')
  }
  const text = await answer.text()
  let value = null
  try {
    value = read(text)
  } catch {
    if (answer.ok) throw new Error(`docent's response to ${path} is not JSON.`)
  }
  if (answer.ok) return value
  if (typeof value?.error === 'string') throw new Error(value.error)
  if (answer.status === 403 || answer.status === 404) {
    throw new Error('Link expired. Open the URL docent printed at startup.')
  }
  throw new Error(`docent responded with status ${answer.status}.`)
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
