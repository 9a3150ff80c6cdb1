// What an error code means in each revision, and which part of a request an error speaks of. Knows nothing of the page.

export const REVISIONS = ['1.0', '2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28']

// Methods that the newest revision no longer has.
const GONE = ['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe']

// Code, first and last revision, name, meaning, likely cause, what to change. The first row that fits is told.
const CODES = [
  [-32700, '', '', 'Parse error', 'What arrived is not JSON.',
    'The message was cut, holds a raw line break, or something else wrote on the same stream.',
    'Send one whole JSON message a line or body, and let the program log on stderr only.'],
  [-32600, '', '', 'Invalid request', 'It is JSON, but no request that can be served now.',
    'A request before the handshake, a wrong "jsonrpc" or id, a key given twice, a message over the size limit, or a ' +
    'batch in a revision without batches (from 2025-06-18 on).',
    'Shake hands first (initialize), and send {"jsonrpc": "2.0", "id", "method", "params"} one at a time.'],
  [-32601, '', '', 'Method not found', 'The other side does not have this method.',
    'The method is misspelt, or the other side did not declare the capability it belongs to.',
    'Look at the capabilities of the handshake and call only what they name.'],
  [-32602, '', '2025-06-18', 'Invalid params', 'The parameters do not fit the method, or the arguments the tool.',
    'A required argument is missing, a type is wrong, or no tool or prompt has that name.',
    'Correct the marked parameter; the tool’s schema says what it takes.'],
  [-32602, '2025-11-25', '2025-11-25', 'Invalid params',
    'The parameters of the method itself are wrong. Wrong arguments of a tool come as a result with isError here.',
    'No tool or prompt has that name, a cursor is stale, or a field of the method is missing.',
    'Correct the marked parameter, or list again and take a name from the list.'],
  [-32602, '2026-07-28', '', 'Invalid params',
    'The parameters of the method itself are wrong, or the resource is not there: this revision has one code for both.',
    'No tool, prompt or resource has that name, a cursor is stale, or the request lacks its _meta.',
    'Correct the marked parameter, or list again and take a name from the list.'],
  [-32603, '', '', 'Internal error', 'The other side failed while it worked on the request.',
    'A bug or a full resource there; the request may be right.',
    'Read the log lines of the call, then try again. If it stays, report it with the reference in the message.'],
  [-32001, '1.0', '1.0', 'Parse failed', 'A file could not be parsed.', 'The file is broken or of another language.',
    'Check the file that the message names.'],
  [-32002, '1.0', '1.0', 'Database failed', 'The index or another store failed.', 'The index is damaged or locked.',
    'Index again, and look at Health for the disk.'],
  [-32002, '2024-11-05', '2025-11-25', 'Resource not found', 'There is no resource with this URI.',
    'The URI is misspelt, or the resource is gone since it was listed.', 'List the resources and read one of them.'],
  [-32003, '1.0', '1.0', 'Not found', 'The file, document or resource is not there.',
    'The path or URI is misspelt, or outside the roots.', 'List what there is and take a name from the list.'],
  [-32020, '2026-07-28', '', 'Header mismatch', 'The HTTP headers say something else than the body.',
    'MCP-Protocol-Version, Mcp-Method or Mcp-Name was not set from the message that was sent.',
    'Make the headers from the body, or leave a proxy out that changes them.'],
  [-32021, '2026-07-28', '', 'Missing client capability', 'The request needs something that the client did not declare.',
    'The tool asks the user, samples or lists roots, and the client’s capabilities do not name that.',
    'Declare the capability in _meta of the request, or call another tool.'],
  [-32022, '', '', 'Unsupported version', 'The other side does not speak this revision.',
    'A newer client meets an older server, or a version is misspelt.',
    'Choose a revision of data.supported, or let the client detect it.'],
  [-32042, '2025-11-25', '2025-11-25', 'URL elicitation required', 'A person has to open an address first.',
    'The server needs a sign-in or a consent in the browser.',
    'Open the address in data.elicitations after looking at it, then send the request again.'],
  [-32000, '', '', 'Refused or failed', 'The server did not take the request on, or the tool failed.',
    'A limit, a rule or the state of the server; its message says which.', 'Follow the message, then try again.'],
]

const HTTP = {
  400: ['Bad request', 'The request is malformed, or speaks a version the server does not know.',
    'Check the version and the body.'],
  401: ['Not signed in', 'The token is missing, wrong or expired.', 'Sign in, or set the server’s token.'],
  403: ['Forbidden', 'The token may not do this, or Origin or Host is not allowed.',
    'Ask for the scope, or allow the origin.'],
  404: ['Not found', 'The address is wrong, or the session has ended.', 'Check the URL (often it ends in /mcp).'],
  405: ['Method not allowed', 'The address is not the MCP endpoint, or has no event stream.', 'Check the URL.'],
  406: ['Not acceptable', 'The client does not accept event streams.', 'Accept application/json and text/event-stream.'],
  408: ['Timed out', 'The body came too slowly.', 'Send it at once.'],
  413: ['Too large', 'The message is over the size limit.', 'Send less, or raise limits.message_bytes.'],
  415: ['Wrong type', 'The body is not declared as JSON.', 'Send Content-Type: application/json.'],
  429: ['Too many requests', 'A rate limit was hit.', 'Wait as long as Retry-After says, or raise the limit.'],
  502: ['Bad gateway', 'A proxy did not reach the server.', 'Start the server behind it.'],
  503: ['Unavailable', 'The server is closing, full or not up yet.', 'Wait and try again.'],
  504: ['Gateway timeout', 'A proxy stopped waiting for the server.', 'Raise its timeout.'],
}

// What a message or its data says more exactly than the code: test, cause, what to change.
const SIGNS = [
  [(data) => data.perMinute || data.retryAfter || data.retryAfterSeconds, 'A rate limit was hit.',
    'Wait as long as the message says, or raise the limit of the client or tool in the configuration.'],
  [(data) => data.callsInFlight, 'The client has too many calls open at once.',
    'Wait for answers before sending more, or raise limits.calls_in_flight.'],
  [(data) => data.scopes, 'The principal’s scopes do not cover this tool.',
    'Add the tool to the scopes of its key, or call with another key.'],
  [(data) => data.kind === 'audit', 'The audit line could not be written, and audit.on_full is "refuse".',
    'Free space for the audit file.'],
  [(data, text) => data.kind === 'deadline' || /deadline|did not answer within|timed? ?out/i.test(text),
    'The work took longer than its time limit.', 'Ask for less, or raise limits.tool_timeout_ms or the server’s timeout_ms.'],
  [(data, text) => /held back/.test(text), 'The server changed the definition of this tool after it was approved.',
    'Look at the change in Health, then approve or refuse it.'],
  [(data) => data.reference, 'A bug in docent: the log has a line with this reference.',
    'Look for the reference in the log lines below and report it.'],
  [(data) => data.kind === 'client_lacks', 'The tool needs something that the client can’t do (asking, sampling, roots).',
    'Use a client that declares it, or another tool.'],
  [(data) => data.uri, 'No resource has this URI.', 'List the resources and read one of them.'],
  [(data) => data.tool && data.available, 'No tool has this name.', 'Take a name from data.closest or the list of tools.'],
  [(data) => data.parameter, 'The marked argument does not fit the schema.', 'Give it what the reason asks for.'],
  [(data) => data.kind === 'not_found', 'A file or document is not there, or is outside the roots.', 'Check the path.'],
  [(data, text) => /can't reach|ECONNREFUSED|not available|os error 2\b/i.test(text), 'The server is not running or could not start.',
    'Look at its state and stderr in Health, and check its command or URL.'],
  [(data, text) => /shutting down/.test(text), 'docent is closing.', 'Connect again when it is back.'],
]

/**
 * What a failure means: {code?, kind?, era?, method?, text?, data?} → {name, means, cause, change, revision}.
 * Code -1 stands for a result with isError.
 */
export function explain(failure) {
  const {kind, era, method, text = ''} = failure
  const revision = REVISIONS.includes(era) ? era : null
  const data = Object(failure.data)
  const status = httpStatus(failure)
  let told = row(failure.code, revision)
  if (status) told = web(status)
  else if (failure.code === -1) {
    told = ['Tool error', 'The tool ran and says that it failed: a result with isError, for the model to read.' +
      (newer(revision, '2025-11-25') ? ' In this revision wrong arguments come this way too.' : ''),
    'The message says why.', 'Change the arguments as the message says, and call again.']
  } else if (kind === 'lost') {
    told = ['No answer', 'The request got no answer: the connection or the process ended first, or time ran out.',
      'The server crashed, was restarted, or hangs.', 'Look at its stderr and restarts in Health, then send it again.']
  }
  let [name, means, cause, change] = told
  if (failure.code === -32601 && revision === '2026-07-28' && GONE.includes(method)) {
    cause = `2026-07-28 has no ${method}.`
    change = 'Choose an older revision, or leave the call out.'
  }
  const sign = SIGNS.find(([test]) => test(data, text))
  if (sign) [, cause, change] = sign
  return {name, means, cause, change, revision}
}

function row(code, revision) {
  const found = CODES.find(([number, first, last]) => number === code && fits(revision, first, last))
  if (found) return found.slice(3)
  if (code <= -32000 && code >= -32099) {
    return ['Server’s own code', `${revision ?? 'The protocol'} leaves this code to the server.`,
      'The server’s message says what happened.', 'Follow the message, or read the server’s documentation.']
  }
  return ['Unknown code', 'No revision defines this code; it is the program’s own.',
    'The message says what happened.', 'Follow the message, or read the server’s documentation.']
}

// Without a known revision the newest row of a code is told, which says what differs.
function fits(revision, first, last) {
  if (!revision) return first !== '1.0'
  return (!first || revision >= first) && (!last || revision <= last)
}

function newer(revision, than) {
  return !revision || revision >= than
}

function httpStatus({code, text = ''}) {
  if (code >= 400 && code < 600) return code
  const named = /\b(?:HTTP|status|the server answered)\W{0,3}([45]\d\d)\b/i.exec(text)
  return named && (code === undefined || code === null || code === -32000) ? Number(named[1]) : null
}

function web(status) {
  const [name, cause, change] = HTTP[status] ??
    (status < 500 ? ['Refused', 'The server refused the request.', 'Read what it says.']
      : ['Server failed', 'The server failed.', 'Look at its log, then try again.'])
  return [`HTTP ${status}: ${name}`, `The server answered with HTTP status ${status}.`, cause, change]
}

/** What an answer says is wrong, or null when it is well: a JSON-RPC error, or a result with isError (code -1). */
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

/** Where in the request the fault lies: [{path, missing}], from the surest sign down; empty when nothing tells. */
export function faults(request, failure) {
  const {text = ''} = failure
  const data = Object(failure.data)
  const bases = [['params', 'arguments'], ['params'], []].filter((base) => Object(at(request, base)) === at(request, base))
  // A tool that does not exist is named by `name` of the call, which may be the name of an argument too.
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

// What the validators of the common SDKs write into their messages: zod's issues, and pydantic's lines.
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

// A path as steps, from a list, a JSON pointer, or names with dots and brackets.
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

// Names and values that the message quotes: a name of a parameter, or the value that one has.
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
