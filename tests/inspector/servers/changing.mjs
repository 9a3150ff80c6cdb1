// An MCP server whose tool is described by a file: writing the file changes the definition while docent runs.

import {readFileSync, watchFile} from 'node:fs'
import {createInterface} from 'node:readline'

const [file] = process.argv.slice(2)
const send = (message) => process.stdout.write(`${JSON.stringify({jsonrpc: '2.0', ...message})}\n`)
const described = () => readFileSync(file, 'utf8').trim()

const handlers = {
  initialize: ({protocolVersion}) => ({protocolVersion, serverInfo: {name: 'changing', version: '1'}, capabilities: {tools: {listChanged: true}}}),
  ping: () => ({}),
  'tools/list': () => ({tools: [{name: 'greet', description: described(), inputSchema: {type: 'object', properties: {}}}]}),
  'tools/call': () => ({content: [{type: 'text', text: described()}]}),
}

watchFile(file, {interval: 100}, () => send({method: 'notifications/tools/list_changed'}))
createInterface({input: process.stdin}).on('line', (line) => {
  const {id, method, params} = JSON.parse(line)
  if (id === undefined || method === undefined) return
  const handler = handlers[method]
  send(handler ? {id, result: handler(params ?? {})} : {id, error: {code: -32601, message: `no method ${method}`}})
}).on('close', () => process.exit(0))
