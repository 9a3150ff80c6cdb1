// Snippets for other programs: their text, and that a shell, Python and Node read back the same values.
import assert from 'node:assert/strict'
import {spawnSync} from 'node:child_process'
import {test} from 'node:test'
import {json, quoted, snippets, words} from '../../../crates/inspector/assets/snippets.js'

const schema = {
  properties: {
    text: {type: 'string'}, count: {type: 'integer'}, on: {type: 'boolean'}, list: {type: 'array'}, maybe: {anyOf: [{type: 'string'}, {type: 'null'}]},
    pick: {type: 'string', enum: ['a', 'b']}, region: {type: 'string', 'x-mcp-header': 'Region'},
  },
}
const self = {name: 'docent', kind: 'self', way: 'docent'}
const url = {name: 'far', kind: 'url', way: 'http://127.0.0.1:9/mcp'}
const local = {name: 'cmd', kind: 'command', way: "node 'a b.js' --x"}
const made = (args, {target = self, era = '2025-11-25', name = 'echo'} = {}) => {
  const all = snippets({tool: {name, inputSchema: schema}, args, target, era})
  return Object.fromEntries(all.map((one) => [one.id, one.text]))
}

const calls = [
  [{text: 'hi'}, {}, 'docent call echo text=hi'],
  [{text: "it's $HOME"}, {}, "docent call echo 'text=it'\\''s $HOME'"],
  [{text: ''}, {}, 'docent call echo text='],
  [{text: '@file'}, {}, `docent call echo 'text:="@file"'`],
  [{text: '-'}, {}, `docent call echo 'text:="-"'`],
  [{text: 'a\nb\u202e'}, {}, String.raw`docent call echo 'text:="a\nb\u202e"'`],
  [{count: 5, on: true, list: [1]}, {}, "docent call echo count=5 on=true 'list:=[1]'"],
  [{text: 5, count: 'x', on: null}, {}, `docent call echo text:=5 'count:="x"' on:=null`],
  [{maybe: 'word'}, {}, 'docent call echo maybe=word'],
  [{maybe: 'null'}, {}, `docent call echo 'maybe:="null"'`],
  [{pick: 'a'}, {}, 'docent call echo pick=a'],
  [{pick: 'c'}, {}, `docent call echo 'pick:="c"'`],
  [{other: 'x'}, {}, `docent call echo 'other:="x"'`],
  [{'a.b': 1, text: 'x'}, {}, `docent call echo --json '{"a.b":1,"text":"x"}'`],
  [{'--url': 1}, {}, `docent call echo --json '{"--url":1}'`],
  [{}, {target: {name: 'my srv', kind: 'server', way: 'x'}}, "docent call echo --server 'my srv'"],
  [{}, {target: url}, 'docent call echo --url http://127.0.0.1:9/mcp'],
  [{}, {target: local}, "docent call echo -- node 'a b.js' --x"],
  [{}, {name: "x'; rm -rf ~ #\u001b[201~"}, "docent call 'x'\\''; rm -rf ~ #?[201~'"],
]
for (const [args, how, want] of calls) test(want, () => assert.equal(made(args, how).docent, want))

const nasty = ['', ' ', "'", '"', '$(id)', '`id`', '\\', '!x', '*', 'a b', '~', 'é', '-x', 'a=b;c', '# no', '&&', '😀']
test('a shell reads words as they were', () => {
  const printed = spawnSync('sh', ['-c', `printf '%s\\n' ${nasty.map(quoted).join(' ')}`], {encoding: 'utf8'})
  assert.deepEqual(printed.stdout.split('\n').slice(0, -1), nasty)
  assert.deepEqual(words(nasty.map(quoted).join(' ')), nasty)
})
test('command lines are taken apart', () => {
  assert.deepEqual(words(`npx -y "a \\"b\\"" c\\ d 'e f'g`), ['npx', '-y', 'a "b"', 'c d', 'e fg'])
})

const values = {text: nasty.join(' '), hidden: 'a\u0000\u202e\u{e0041}\ud800b\n\t😀', list: [1, -2.5, 1e21, null, true, [], {}], ['__proto__']: 1, long: ['x'.repeat(90), {a: {b: ['y'.repeat(50)]}}]}
const args = JSON.parse(JSON.stringify(values).replace('"hidden"', '"__proto__":{"p":1},"hidden"'))

test('JSON hides nothing', () => {
  assert.match(json(args), /^[^\u0000-\u001f\u202e\u{e0000}-\u{e0fff}]*$/u)
  assert.deepEqual(JSON.parse(json(args)), args)
})
test('JSON-RPC', () => {
  assert.deepEqual(JSON.parse(made(args).jsonrpc), {jsonrpc: '2.0', id: 1, method: 'tools/call', params: {name: 'echo', arguments: args}})
  const meta = JSON.parse(made({}, {era: '2026-07-28'}).jsonrpc).params._meta
  assert.equal(meta['io.modelcontextprotocol/protocolVersion'], '2026-07-28')
  assert.equal(Object.keys(meta).length, 3)
})

// Runs a script with a curl that prints its arguments, and returns the arguments of each run.
function ran(script) {
  const fake = `curl() { printf '%s\\037' "$@" >&2; printf '\\036' >&2; printf 'Mcp-Session-Id: s1\\r\\n'; }\n`
  const {stderr, status} = spawnSync('sh', ['-c', fake + script], {encoding: 'utf8'})
  assert.equal(status, 0, stderr)
  return stderr.split('\x1e').slice(0, -1).map((run) => run.split('\x1f').slice(0, -1))
}
const headers = (run) => run.filter((_, index) => run[index - 1] === '-H')
const body = (run) => JSON.parse(run[run.indexOf('-d') + 1])

test('curl of an era with sessions shakes hands first', () => {
  const [open, ready, call] = ran(made(args, {target: url}).curl)
  assert.equal(body(open).method, 'initialize')
  assert.ok(!headers(open).some((one) => /session|protocol/i.test(one)))
  assert.equal(body(ready).method, 'notifications/initialized')
  assert.ok(headers(call).includes('Mcp-Session-Id: s1') && headers(call).includes('MCP-Protocol-Version: 2025-11-25'))
  assert.deepEqual(body(call).params.arguments, args)
  assert.ok(!ran(made({}, {target: url, era: '2025-03-26'}).curl)[2].some((one) => /MCP-Protocol/.test(one)))
})
test('curl of the era without sessions is one request with its headers', () => {
  const all = ran(made({text: 'x', region: 'zürich'}, {target: url, era: '2026-07-28'}).curl)
  assert.equal(all.length, 1)
  assert.deepEqual(headers(all[0]), ['Content-Type: application/json', 'Accept: application/json, text/event-stream', 'MCP-Protocol-Version: 2026-07-28',
    'Mcp-Method: tools/call', 'Mcp-Name: echo', 'Mcp-Param-Region: =?base64?esO8cmljaA==?='])
})
test('curl for a server without a URL says so', () => {
  assert.match(made({}).curl, /^# After: docent serve --transport http\n/)
  assert.match(made({}, {target: local}).curl, /^# This server has no URL/)
})

test('Python reads the same values', {skip: spawnSync('python3', ['-V']).status !== 0}, () => {
  for (const target of [url, local, self]) {
    const lines = made(args, {target}).python
    const checks = `import ast, json, sys\ntree = ast.parse(sys.stdin.read())\ncall = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and getattr(n.func, 'attr', '') == 'call_tool'][0]\nprint(json.dumps([ast.literal_eval(one) for one in call.args]))`
    const got = spawnSync('python3', ['-c', checks], {input: lines, encoding: 'utf8'})
    assert.equal(got.status, 0, got.stderr)
    assert.deepEqual(JSON.parse(got.stdout), ['echo', args])
  }
  assert.match(made({}, {target: local}).python, /command="node", args=\["a b.js", "--x"\]/)
})
test('TypeScript reads the same values', () => {
  const lines = made(args, {target: local, name: "a'b"}).typescript
  const call = /callTool\((.*)\)\nconsole/s.exec(lines)[1]
  assert.deepEqual(new Function(`return (${call})`)(), {name: "a'b", arguments: args})
  assert.match(lines, /\{command: "node", args: \["a b.js", "--x"\]\}/)
  assert.match(made({}, {target: url}).typescript, /new StreamableHTTPClientTransport\(new URL\("http:\/\/127/)
})
