// Explains error codes per protocol revision, and locates the faulty part of a request. Independent of the page.

export const REVISIONS = ['1.0', '2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28']

// Methods that the newest revision no longer has.
const GONE = ['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe']

// Code, first and last revision, name, meaning, likely cause, what to change. The first matching row is used.
const CODES = [
  [-32700, '', '', 'Parse error', 'What arrived is not JSON.',
    'The message was truncated, contains a raw line break, or something else wrote to the same stream.',
    'Send one complete JSON message per line or body, and log to stderr only.'],
  [-32600, '', '', 'Invalid request', 'It is JSON, but not a request that can be served now.',
    'A request before the handshake, a wrong "jsonrpc" or id, a duplicate key, a message over the size limit, or a ' +
    'batch in a revision without batches (from 2025-06-18 on).',
    'Send initialize first, then send {"jsonrpc": "2.0", "id", "method", "params"} one at a time.'],
  [-32601, '', '', 'Method not found', 'The other side does not have this method.',
    'The method is misspelled, or the other side did not declare its capability.',
    'Check the capabilities from the handshake and call only those.'],
  [-32602, '', '2025-06-18', 'Invalid params', 'The parameters do not match the method, or the arguments the tool.',
    'A required argument is missing, a type is wrong, or no tool or prompt has that name.',
    'Correct the marked parameter; see the tool’s schema.'],
  [-32602, '2025-11-25', '2025-11-25', 'Invalid params',
    'The parameters of the method itself are wrong. Wrong tool arguments are reported as a result with isError in this revision.',
    'No tool or prompt has that name, a cursor is stale, or a field of the method is missing.',
    'Correct the marked parameter, or list again and take a name from the list.'],
  [-32602, '2026-07-28', '', 'Invalid params',
    'The parameters of the method itself are wrong, or the resource is not there: this revision uses one code for both.',
    'No tool, prompt or resource has that name, a cursor is stale, or the request lacks its _meta.',
    'Correct the marked parameter, or list again and take a name from the list.'],
  [-32603, '', '', 'Internal error', 'The other side failed while handling the request.',
    'A bug or an exhausted resource there; the request may be valid.',
    'Read the log lines of the call, then try again. If it persists, report it with the reference in the message.'],
  [-32001, '1.0', '1.0', 'Parse failed', 'A file could not be parsed.', 'The file is broken or in another language.',
    'Check the file that the message names.'],
  [-32002, '1.0', '1.0', 'Database failed', 'The index or another store failed.', 'The index is damaged or locked.',
    'Rebuild the index, and check the disk in Health.'],
  [-32002, '2024-11-05', '2025-11-25', 'Resource not found', 'There is no resource with this URI.',
    'The URI is misspelled, or the resource was removed after it was listed.', 'List the resources and read one of them.'],
  [-32003, '1.0', '1.0', 'Not found', 'The file, document or resource does not exist.',
    'The path or URI is misspelled, or outside the roots.', 'List the available items and use a name from the list.'],
  [-32020, '2026-07-28', '', 'Header mismatch', 'The HTTP headers do not match the body.',
    'MCP-Protocol-Version, Mcp-Method or Mcp-Name differs from the message.',
    'Set the headers from the body, or bypass a proxy that changes them.'],
  [-32021, '2026-07-28', '', 'Missing client capability', 'The request needs a capability that the client did not declare.',
    'The tool uses elicitation, sampling or roots, and the client did not declare it.',
    'Declare the capability in _meta of the request, or call another tool.'],
  [-32022, '', '', 'Unsupported version', 'The other side does not support this revision.',
    'The client is newer than the server, or a version is misspelled.',
    'Choose a revision from data.supported, or let the client detect it.'],
  [-32042, '2025-11-25', '2025-11-25', 'URL elicitation required', 'The user has to open a URL first.',
    'The server needs a sign-in or consent in the browser.',
    'Check and open the URL in data.elicitations, then send the request again.'],
  [-32000, '', '', 'Refused or failed', 'The server rejected the request, or the tool failed.',
    'A limit, a policy rule or the state of the server; see its message.', 'Follow the message, then try again.'],
]

const HTTP = {
  400: ['Bad request', 'The request is malformed, or uses a version the server does not know.',
    'Check the version and the body.'],
  401: ['Not signed in', 'The token is missing, wrong or expired.', 'Sign in, or set the server’s token.'],
  403: ['Forbidden', 'The token may not do this, or Origin or Host is not allowed.',
    'Request the scope, or allow the origin.'],
  404: ['Not found', 'The URL is wrong, or the session has ended.', 'Check the URL (it often ends in /mcp).'],
  405: ['Method not allowed', 'The URL is not the MCP endpoint, or has no event stream.', 'Check the URL.'],
  406: ['Not acceptable', 'The client does not accept event streams.', 'Accept application/json and text/event-stream.'],
  408: ['Timed out', 'The body arrived too slowly.', 'Send the body without delay.'],
  413: ['Too large', 'The message is over the size limit.', 'Send less, or raise limits.message_bytes.'],
  415: ['Wrong type', 'The body is not declared as JSON.', 'Send Content-Type: application/json.'],
  429: ['Too many requests', 'A rate limit was hit.', 'Wait for the time in Retry-After, or raise the limit.'],
  502: ['Bad gateway', 'A proxy could not reach the server.', 'Start the server behind it.'],
  503: ['Unavailable', 'The server is shutting down, full or still starting.', 'Wait and try again.'],
  504: ['Gateway timeout', 'A proxy stopped waiting for the server.', 'Raise its timeout.'],
}

// Patterns in the message or its data that are more specific than the code: test, cause, what to change.
const SIGNS = [
  [(data) => data.perMinute || data.retryAfter || data.retryAfterSeconds, 'A rate limit was hit.',
    'Wait for the time in the message, or raise the limit of the client or tool in the configuration.'],
  [(data) => data.callsInFlight, 'The client has too many calls open at once.',
    'Wait for responses before sending more, or raise limits.calls_in_flight.'],
  [(data) => data.scopes, 'The principal’s scopes do not cover this tool.',
    'Add the tool to the scopes of its key, or call with another key.'],
  [(data) => data.kind === 'audit', 'The audit entry could not be written, and audit.on_full is "refuse".',
    'Free disk space for the audit log.'],
  [(data, text) => data.kind === 'deadline' || /deadline|did not (answer|respond) within|timed? ?out/i.test(text),
    'The work took longer than its time limit.', 'Request less, or raise limits.tool_timeout_ms or the server’s timeout_ms.'],
  [(data, text) => /held back|blocked/.test(text), 'The server changed the definition of this tool after it was approved.',
    'Review the change in Health, then approve or reject it.'],
  [(data) => data.reference, 'A bug in docent. Its log has an entry with this reference.',
    'Find the reference in the log lines below and report it.'],
  [(data) => data.kind === 'client_lacks', 'The tool needs a capability that the client lacks (elicitation, sampling or roots).',
    'Use a client that declares it, or another tool.'],
  [(data) => data.uri, 'No resource has this URI.', 'List the resources and read one of them.'],
  [(data) => data.tool && data.available, 'No tool has this name.', 'Use a name from data.closest or the list of tools.'],
  [(data) => data.parameter, 'The marked argument does not match the schema.', 'Correct it as the message describes.'],
  [(data) => data.kind === 'not_found', 'A file or document does not exist, or is outside the roots.', 'Check the path.'],
  [(data, text) => /can't reach|cannot reach|ECONNREFUSED|not available|os error 2\b/i.test(text), 'The server is not running or could not start.',
    'Check its state and stderr in Health, and its command or URL.'],
  [(data, text) => /shutting down/.test(text), 'docent is shutting down.', 'Reconnect when it is running again.'],
]

/**
 * Explains a failure: {code?, kind?, era?, method?, text?, data?} → {name, means, cause, change, revision}.
 * Code -1 means a result with isError; `cause` is empty where nothing is known beyond the message.
 */
export function explain(failure) {
  const {kind, era, method, text = ''} = failure
  const revision = REVISIONS.includes(era) ? era : null
  const data = Object(failure.data)
  const status = httpStatus(failure)
  let explanation = row(failure.code, revision)
  if (status) explanation = web(status)
  else if (failure.code === -1) {
    explanation = ['Tool error', 'The tool ran and returned a result with isError, for the model to read.' +
      (newer(revision, '2025-11-25') ? ' In this revision wrong arguments are reported this way too.' : ''),
    '', 'Change the arguments as the message describes, and call again.']
  } else if (kind === 'lost') {
    explanation = ['No response', 'The connection or the process ended before a response came, or the request timed out.',
      'The server crashed, was restarted, or hangs.', 'Check its stderr and restarts in Health, then send it again.']
  }
  let [name, means, cause, change] = explanation
  if (failure.code === -32601 && revision === '2026-07-28' && GONE.includes(method)) {
    cause = `2026-07-28 has no ${method}.`
    change = 'Choose an older revision, or omit the call.'
  }
  const sign = SIGNS.find(([test]) => test(data, text))
  if (sign) [, cause, change] = sign
  return {name, means, cause, change, revision}
}

function row(code, revision) {
  const found = CODES.find(([number, first, last]) => number === code && fits(revision, first, last))
  if (found) return found.slice(3)
  if (code <= -32000 && code >= -32099) {
    return ['Server’s own code', `${revision ?? 'The protocol'} reserves this code for the server.`,
      'See the server’s message.', 'Follow the message, or read the server’s documentation.']
  }
  return ['Unknown code', 'No revision defines this code; it is specific to the server.',
    'See the message.', 'Follow the message, or read the server’s documentation.']
}

// Without a known revision the newest row of a code is used, which names the differences.
function fits(revision, first, last) {
  if (!revision) return first !== '1.0'
  return (!first || revision >= first) && (!last || revision <= last)
}

function newer(revision, than) {
  return !revision || revision >= than
}

function httpStatus({code, text = ''}) {
  if (code >= 400 && code < 600) return code
  const named = /\b(?:HTTP|status|the server (?:answered|responded)(?: with)?)\W{0,3}([45]\d\d)\b/i.exec(text)
  return named && (code === undefined || code === null || code === -32000) ? Number(named[1]) : null
}

function web(status) {
  const [name, cause, change] = HTTP[status] ??
    (status < 500 ? ['Refused', 'The server refused the request.', 'Read its message.']
      : ['Server failed', 'The server failed.', 'Check its log, then try again.'])
  return [`HTTP ${status}: ${name}`, `The server responded with HTTP status ${status}.`, cause, change]
}

/** The failure that a response reports, or null on success: a JSON-RPC error, or a result with isError (code -1). */
export function failureOf(answer) {
  if (answer?.error) return {code: answer.error.code, text: String(answer.error.message ?? ''), data: answer.error.data}
  const result = answer?.result
  if (!result?.isError && !result?.is_error) return null
  const blocks = Array.isArray(result.content) ? result.content : []
  return {code: -1, text: blocks.map((block) => block?.text ?? '').join('\n'), data: result.structuredContent?.error}
}

/** The request as lines of text: [{text, mark?: 'wrong' | 'missing', note?}]. */
export function mark(request, failure) {
  const found = faults(request, failure)
  const lines = []
  write(request, [], '', '', '', lines)
  return lines.map(({text, path, opens}) => {
    const inside = found.find((fault) => !fault.missing && fault.path.every((step, at) => step === path[at]))
    if (inside) return {text, mark: 'wrong'}
    const lacks = opens && found.find((fault) => fault.missing && same(fault.path.slice(0, -1), path))
    return lacks ? {text, mark: 'missing', note: `${lacks.path.at(-1)} is missing here`} : {text}
  })
}

function write(value, path, indent, before, after, lines) {
  const nested = value !== null && typeof value === 'object'
  const entries = nested ? Object.entries(value) : []
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  if (!nested) lines.push({text: indent + before + (JSON.stringify(value) ?? 'null') + after, path})
  else if (!entries.length) lines.push({text: indent + before + open + close + after, path, opens: true})
  else {
    lines.push({text: indent + before + open, path, opens: true})
    entries.forEach(([key, one], at) => {
      const name = open === '[' ? '' : `${JSON.stringify(key)}: `
      write(one, [...path, key], `${indent}  `, name, at < entries.length - 1 ? ',' : '', lines)
    })
    lines.push({text: indent + close + after, path})
  }
}

/** Locates the faulty part of the request: [{path, missing}], most certain first; empty if unknown. */
export function faults(request, failure) {
  const {text = ''} = failure
  const data = Object(failure.data)
  const bases = [['params', 'arguments'], ['params'], []].filter((base) => Object(at(request, base)) === at(request, base))
  // An unknown tool is named by `name` of the call, which may also be the name of an argument.
  if (data.available) bases.reverse()
  const sure = [...structured(data), ...inText(text)].map((path) => place(request, bases, path)).filter(Boolean)
  if (sure.length) return unique(sure)
  const code = failure.code
  if (code === -32601) return [{path: ['method'], missing: false}]
  if (data.uri && at(request, ['params', 'uri']) !== undefined) return [{path: ['params', 'uri'], missing: false}]
  if (code === -32022 || code === -32021) return ofMeta(request, code)
  return unique(quoted(request, bases, text))
}

const KEYS = ['parameter', 'param', 'field', 'argument', 'path', 'pointer', 'instancePath', 'loc']

function structured(data) {
  const list = (value) => (Array.isArray(value) ? value : [])
  return [data, ...list(data), ...list(data.errors), ...list(data.issues)].filter(Boolean)
    .flatMap((part) => KEYS.filter((key) => part[key]?.length).map((key) => steps(part[key])))
}

// Paths in the messages of common validators: zod issues and pydantic lines.
function inText(text) {
  const zod = [...text.matchAll(/"path"\s*:\s*(\[[^\]]*\])/g)].map((found) => parsed(found[1])).filter(Boolean)
  const python = [...text.matchAll(/^([\w.]+)\r?\n\s+.*\[type=/gm)].map((found) => found[1])
  return [...zod, ...python].filter((path) => path.length).map(steps)
}

function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

// Parses a path from a list, a JSON pointer, or names with dots and brackets.
function steps(path) {
  if (Array.isArray(path)) return path.map(String)
  const text = String(path)
  if (/^#?\//.test(text)) {
    return text.replace(/^#?\//, '').split('/').map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  }
  return text.replace(/^\$\.?/, '').replace(/\[['"]?([^\]'"]*)['"]?\]/g, '.$1').split('.').filter(Boolean)
}

function place(request, bases, path) {
  const whole = bases.map((base) => [...base, ...path]).find((full) => at(request, full) !== undefined)
  if (whole) return {path: whole, missing: false}
  for (const base of bases) {
    const holder = at(request, [...base, ...path.slice(0, -1)])
    if (path.length && holder !== null && typeof holder === 'object') return {path: [...base, ...path], missing: true}
  }
  return null
}

function ofMeta(request, code) {
  const name = code === -32022 ? 'protocolVersion' : 'clientCapabilities'
  const paths = [['params', '_meta', `io.modelcontextprotocol/${name}`], ['params', name]]
  return paths.filter((path) => at(request, path) !== undefined).map((path) => ({path, missing: false}))
}

// Parameters whose name or value the message quotes.
function quoted(request, bases, text) {
  const lacking = /required|missing|must have|needed/i.test(text)
  const words = [...text.matchAll(/'([^'\n]{1,200})'|`([^`\n]{1,200})`|"([^"\n]{1,200})"|(?<=^|[\s(])((?:\/[\w~$.-]+)+)/g)]
  return words.flatMap(([, one, two, three, pointer]) => {
    const word = one ?? two ?? three ?? pointer
    const found = place(request, bases.slice(0, 2), steps(word))
    if (found && !found.missing) return [found]
    const value = valued(at(request, ['params']), ['params'], word)
    if (value) return [{path: value, missing: false}]
    return found && lacking && /^[\w.$[\]-]+$/.test(word) ? [found] : []
  })
}

function valued(value, path, word) {
  if (value === word) return path
  if (value === null || typeof value !== 'object') return null
  for (const [key, one] of Object.entries(value)) {
    const found = valued(one, [...path, key], word)
    if (found) return found
  }
  return null
}

function at(value, path) {
  return path.reduce((here, step) => (here !== null && typeof here === 'object' && Object.hasOwn(here, step)
    ? here[step] : undefined), value)
}

function same(left, right) {
  return left.length === right.length && left.every((step, index) => step === right[index])
}

function unique(list) {
  return list.filter((one, index) => list.findIndex((other) => same(one.path, other.path)) === index)
}
