// Generates a call for other programs: docent's shell client, curl, JSON-RPC, and the official Python and TypeScript SDKs.
// Hidden and control characters are escaped, so that a pasted snippet does what it shows.

const STATELESS = '2026-07-28'
const META = 'io.modelcontextprotocol/'
const CLIENT = {name: 'example', version: '1.0.0'}
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu

/**
 * @param call {tool: definition, args, target: {name, kind, way}, era}
 * @returns [{id, label, text}]
 */
export function snippets(call) {
  return [
    {id: 'docent', label: 'docent call', text: docentCall(call)},
    {id: 'curl', label: 'curl', text: curl(call)},
    {id: 'jsonrpc', label: 'JSON-RPC', text: json(request(call), 2)},
    {id: 'python', label: 'Python', text: python(call)},
    {id: 'typescript', label: 'TypeScript', text: typescript(call)},
  ]
}

const hex = (code, length) => code.toString(16).padStart(length, '0')
const units = (character) => character.split('').map((unit) => `\\u${hex(unit.charCodeAt(0), 4)}`).join('')

// JSON that any shell and editor displays completely.
export function json(value, indent) {
  return JSON.stringify(value, null, indent).replace(HIDDEN, (character) => (character === '\n' ? character : units(character)))
}

/** A word for a POSIX shell. */
export function quoted(text) {
  // Shell quotes cannot escape control characters, and a pasted one can end the paste.
  const plain = text.replace(HIDDEN, '?')
  return /^[\w./:,@%+-][\w./:,@%+=-]*$/.test(plain) ? plain : `'${plain.replaceAll("'", "'\\''")}'`
}

function docentCall({tool, args, target}) {
  const words = Object.entries(args).map(([key, value]) => word(key, value, tool.inputSchema))
  const said = words.includes(null) ? ['--json', quoted(json(args))] : words
  return ['docent call', quoted(tool.name), ...said, ...server(target)].join(' ')
}

function server({name, kind, way} = {}) {
  if (kind === 'server') return ['--server', quoted(name)]
  if (kind === 'url') return ['--url', quoted(way)]
  return kind === 'command' ? ['--', way] : []
}

// key=value if the schema parses it to the same value, else key:=JSON; null if the key cannot be typed.
function word(key, value, schema) {
  if (!/^[\p{L}_$][\p{L}\p{N}_$-]*$/u.test(key)) return null
  const text = `${value}`
  return isTyped(schema?.properties?.[key], value, text) ? quoted(`${key}=${text}`) : quoted(`${key}:=${json(value)}`)
}

function isTyped(schema, value, text) {
  const kinds = [schema, ...(schema?.anyOf ?? schema?.oneOf ?? [])].flatMap((one) => one?.type ?? [])
  if (schema?.$ref || (Array.isArray(schema?.enum) && !schema.enum.includes(value))) return false
  if (typeof value === 'number') return kinds.length === 1 && /number|integer/.test(kinds[0])
  if (typeof value === 'boolean') return kinds.length === 1 && kinds[0] === 'boolean'
  if (typeof value !== 'string' || !kinds.includes('string') || /^@|^-$/.test(text) || text.search(HIDDEN) >= 0) return false
  return kinds.length === 1 || !/^\s*(true|false|null|[-+\d[{"])|,/.test(text)
}

function request({tool, args, era}) {
  const params = {name: tool.name, arguments: args}
  if (era === STATELESS) params._meta = {[`${META}protocolVersion`]: era, [`${META}clientInfo`]: CLIENT, [`${META}clientCapabilities`]: {}}
  return {jsonrpc: '2.0', id: 1, method: 'tools/call', params}
}

const address = ({kind, way} = {}) => (/^https?:\/\//.test(way ?? '') && kind !== 'self' ? way : null)

function curl(call) {
  const {tool, args, era, target} = call
  const url = address(target)
  const why = target?.kind === 'self' ? '# After: docent serve --transport http\n' : '# This server has no URL: replace this with the one where it is served.\n'
  const headers = (more) => ['Content-Type: application/json', 'Accept: application/json, text/event-stream', ...more]
  const line = (more, body) => [`curl -sS ${quoted(url ?? 'http://127.0.0.1:8001/mcp')}`,
    ...headers(more).map((one) => `-H ${one.startsWith('"') ? one : quoted(one)}`), `-d ${quoted(json(body))}`].join(' \\\n  ')
  const start = url ? '' : why
  const version = `MCP-Protocol-Version: ${era}`
  if (era === STATELESS) {
    const named = [version, 'Mcp-Method: tools/call', `Mcp-Name: ${field(tool.name)}`, ...parameters(tool.inputSchema, args)]
    return `${start}${line(named, request(call))}`
  }
  const opened = {jsonrpc: '2.0', id: 0, method: 'initialize', params: {protocolVersion: era, capabilities: {}, clientInfo: CLIENT}}
  const session = [...(era >= '2025-06-18' ? [version] : []), '"Mcp-Session-Id: $session"']
  const id = `session=$(${line([], opened)} \\\n  -D - -o /dev/null | tr -d '\\r' | awk 'tolower($1) == "mcp-session-id:" {print $2}')`
  const ready = line(session, {jsonrpc: '2.0', method: 'notifications/initialized'})
  return `${start}${id}\n${ready}\n${line(session, request(call))}`
}

// Encodes a value for a header, as revision 2026-07-28 defines it.
function field(text) {
  if (/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !/^=\?base64\?.*\?=$/.test(text)) return text
  return `=?base64?${btoa(String.fromCharCode(...new TextEncoder().encode(text).slice(0, 8000)))}?=`
}

// Arguments that the schema also maps to headers.
function parameters(schema, args, depth = 0) {
  if (depth > 20) return []
  return Object.entries(schema?.properties ?? {}).flatMap(([key, one]) => {
    const value = args?.[key]
    const name = one?.['x-mcp-header']
    const isSent = typeof name === 'string' && /^[\w!#$%&*+.^|~-]+$/.test(name) && ['string', 'number', 'boolean'].includes(typeof value)
    return [...(isSent ? [`Mcp-Param-${name}: ${field(`${value}`)}`] : []), ...parameters(one, value, depth + 1)]
  })
}

/** Splits a command line as a POSIX shell does. */
export function words(line) {
  return [...line.matchAll(/(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\])+/gs)].map(([one]) =>
    one.replace(/'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)/gs, (_, single, double, escaped) => single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped))
}

const command = (target) => (target?.way && target.kind !== 'self' ? words(target.way) : ['docent', 'serve'])

// A value in Python or TypeScript, over several lines if it is long.
function literal(value, style, indent) {
  if (value === null || typeof value === 'boolean') return style[String(value)]
  if (typeof value === 'string') return style.text(value)
  if (typeof value !== 'object') return String(value)
  const inner = `${indent}${style.step}`
  const parts = Array.isArray(value) ? value.map((one) => literal(one, style, inner))
    : Object.entries(value).map(([key, one]) => `${style.key(key)}: ${literal(one, style, inner)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  const flat = `${open}${parts.join(', ')}${close}`
  return flat.length + indent.length < 80 && !flat.includes('\n') ? flat : `${open}\n${parts.map((one) => `${inner}${one},\n`).join('')}${indent}${close}`
}

// Python has no surrogate pairs.
const pythonText = (text) => JSON.stringify(text).replace(HIDDEN, (character) => {
  const code = character.codePointAt(0)
  return code > 0xffff ? `\\U${hex(code, 8)}` : `\\u${hex(code, 4)}`
})
const PYTHON = {null: 'None', true: 'True', false: 'False', text: pythonText, key: pythonText, step: '    '}
const TYPESCRIPT = {null: 'null', true: 'true', false: 'false', text: json, key: (key) => (key === '__proto__' ? '["__proto__"]' : json(key)), step: '  '}

function python({tool, args, target}) {
  const url = address(target)
  const [program, ...rest] = command(target)
  const text = (value, indent = '') => literal(value, PYTHON, indent)
  const way = url ? `streamable_http_client(${text(url)})`
    : `stdio_client(StdioServerParameters(command=${text(program ?? '')}, args=${text(rest, '    ')}))`
  return `import asyncio

from mcp import ClientSession${url ? '' : ', StdioServerParameters'}
from mcp.client.${url ? 'streamable_http import streamable_http_client' : 'stdio import stdio_client'}


async def main():
    async with ${way} as streams:
        async with ClientSession(streams[0], streams[1]) as session:
            await session.initialize()
            result = await session.call_tool(${text(tool.name)}, ${text(args, '            ')})
            print(result.model_dump_json(indent=2))


asyncio.run(main())
`
}

function typescript({tool, args, target}) {
  const url = address(target)
  const [program, ...rest] = command(target)
  const text = (value) => literal(value, TYPESCRIPT, '')
  const kind = url ? 'StreamableHTTPClientTransport' : 'StdioClientTransport'
  const way = url ? `new URL(${text(url)})` : `{command: ${text(program ?? '')}, args: ${text(rest)}}`
  return `import {Client} from '@modelcontextprotocol/sdk/client/index.js'
import {${kind}} from '@modelcontextprotocol/sdk/client/${url ? 'streamableHttp' : 'stdio'}.js'

const client = new Client({name: 'example', version: '1.0.0'})
await client.connect(new ${kind}(${way}))
const result = await client.callTool({name: ${text(tool.name)}, arguments: ${text(args)}})
console.log(JSON.stringify(result, null, 2))
await client.close()
`
}
