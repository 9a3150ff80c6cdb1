// Explanations and request marks of codes.js. Run with `node --test`.
import assert from 'node:assert/strict'
import {readFile} from 'node:fs/promises'
import test from 'node:test'

// The page's files are modules without a package.json.
const source = await readFile(new URL('../../../crates/inspector/assets/codes.js', import.meta.url))
const {REVISIONS, explain, failureOf, faults, mark} =
  await import(`data:text/javascript;base64,${source.toString('base64')}`)

test('a code is explained by its revision', () => {
  const cases = [
    [-32002, '1.0', 'Database failed'],
    [-32002, '2024-11-05', 'Resource not found'],
    [-32002, '2025-11-25', 'Resource not found'],
    [-32002, '2026-07-28', 'Server’s own code'],
    [-32003, '1.0', 'Not found'],
    [-32003, '2025-06-18', 'Server’s own code'],
    [-32001, '1.0', 'Parse failed'],
    [-32020, '2026-07-28', 'Header mismatch'],
    [-32020, '2025-06-18', 'Server’s own code'],
    [-32021, '2026-07-28', 'Missing client capability'],
    [-32022, '2025-11-25', 'Unsupported version'],
    [-32042, '2025-11-25', 'URL elicitation required'],
    [-32042, '2025-03-26', 'Server’s own code'],
    [-32000, '2025-03-26', 'Refused or failed'],
    [-32099, '2025-03-26', 'Server’s own code'],
    [-32100, '2025-03-26', 'Unknown code'],
    [-32700, null, 'Parse error'],
    [-32002, null, 'Resource not found'],
    [-32602, 'no revision', 'Invalid params'],
    [7, '2025-03-26', 'Unknown code'],
    [404, '2025-03-26', 'HTTP 404: Not found'],
    [418, '2025-03-26', 'HTTP 418: Refused'],
    [-1, '2025-03-26', 'Tool error'],
  ]
  for (const [code, era, name] of cases) assert.equal(explain({code, era}).name, name, `${code} in ${era}`)
})

test('every revision explains every common code', () => {
  for (const era of REVISIONS) {
    for (const code of [-32700, -32600, -32601, -32602, -32603, -32000, -32001, -32002, -32003, -32020, -32042, -1, 500]) {
      const explanation = explain({code, era})
      // A tool error has no cause beyond its own message.
      const parts = ['name', 'means', 'change', ...(code === -1 ? [] : ['cause'])]
      for (const part of parts) assert.ok(explanation[part], `${part} of ${code} in ${era}`)
    }
  }
})

test('the meaning differs where the revisions differ', () => {
  const means = (code, era) => explain({code, era}).means
  assert.match(means(-32602, '2024-11-05'), /arguments the tool/)
  assert.match(means(-32602, '2025-11-25'), /isError/)
  assert.match(means(-32602, '2026-07-28'), /resource is not there/)
  assert.match(means(-1, '2025-11-25'), /wrong arguments/)
  assert.doesNotMatch(means(-1, '2025-06-18'), /wrong arguments/)
  assert.match(explain({code: -32601, era: '2026-07-28', method: 'ping'}).cause, /has no ping/)
  assert.doesNotMatch(explain({code: -32601, era: '2025-11-25', method: 'ping'}).cause, /has no ping/)
})

test('data and message are more specific than the code', () => {
  const cases = [
    [{code: -32000, data: {retryAfter: 3}}, /rate limit/],
    [{code: -32000, data: {callsInFlight: 8, waiting: 16}}, /too many calls/],
    [{code: -32000, data: {tool: 'a', scopes: ['b']}}, /scopes/],
    [{code: -32603, data: {kind: 'deadline'}}, /time limit/],
    [{code: -32603, data: {reference: 'ab12'}}, /reference/],
    [{code: -1, text: 'the tool `a` of the server `b` is held back: its definition has changed'}, /changed the definition/],
    [{kind: 'lost', text: 'can\'t reach the server: no route'}, /not running/],
    [{kind: 'lost'}, /crashed/],
    [{code: -32602, data: {uri: 'a:b'}}, /No resource/],
  ]
  for (const [failure, cause] of cases) assert.match(explain(failure).cause, cause)
})

test('an HTTP status is found in the text of a lost call', () => {
  assert.equal(explain({kind: 'lost', text: 'the server answered 401: no token'}).name, 'HTTP 401: Not signed in')
  assert.equal(explain({kind: 'lost', text: 'it has 404 files'}).name, 'No response')
  assert.equal(explain({code: -32602, text: 'HTTP 404'}).name, 'Invalid params')
})

test('a response reports its failure', () => {
  assert.equal(failureOf({result: {content: []}}), null)
  assert.equal(failureOf(null), null)
  assert.deepEqual(failureOf({error: {code: -32602, message: 'no', data: 1}}), {code: -32602, text: 'no', data: 1})
  const failed = {result: {isError: true, content: [{type: 'text', text: 'Error: x'}, null], structuredContent: {error: {code: -32000}}}}
  assert.deepEqual(failureOf(failed), {code: -1, text: 'Error: x\n', data: {code: -32000}})
  assert.equal(failureOf({result: {is_error: true}}).code, -1)
})

const CALL = {
  jsonrpc: '2.0', id: 7, method: 'tools/call',
  params: {name: 'tree', arguments: {path: 'src/no.rs', depth: 'deep', filter: {kinds: ['fn', 'x']}, 'a/b': 1}},
}

test('the faulty part of the request is found', () => {
  const cases = [
    [{data: {parameter: 'depth'}}, 'params.arguments.depth'],
    [{data: {parameter: 'filter.kinds[1]'}}, 'params.arguments.filter.kinds.1'],
    [{data: {path: '/filter/kinds/1'}}, 'params.arguments.filter.kinds.1'],
    [{data: {path: '/a~1b'}}, 'params.arguments.a/b'],
    [{data: {path: ['filter', 'kinds']}}, 'params.arguments.filter.kinds'],
    [{data: {errors: [{instancePath: '/depth'}, {instancePath: '/path'}]}}, 'params.arguments.depth params.arguments.path'],
    [{data: {parameter: 'arguments'}}, 'params.arguments'],
    [{data: {parameter: 'limit'}}, '-params.arguments.limit'],
    [{data: {parameter: 'filter.name'}}, '-params.arguments.filter.name'],
    [{data: {parameter: 'name', tool: 'tree', available: []}}, 'params.name'],
    [{text: 'Invalid arguments: [{"code": "invalid_type", "path": ["depth"], "message": "Expected number"}]'}, 'params.arguments.depth'],
    [{text: '1 validation error for treeArguments\nlimit\n  Field required [type=missing, input_value={}]'}, '-params.arguments.limit'],
    [{text: 'no such file: \'src/no.rs\''}, 'params.arguments.path'],
    [{text: '`depth` must be a number'}, 'params.arguments.depth'],
    [{text: 'at /filter/kinds: too long'}, 'params.arguments.filter.kinds'],
    [{text: '"limit" is required'}, '-params.arguments.limit'],
    [{text: 'the \'weather\' is bad'}, ''],
    [{text: 'can\'t open /etc/passwd'}, ''],
    [{text: 'Unknown tool "tree"'}, 'params.name'],
    [{code: -32601, data: {method: 'tools/call'}}, 'method'],
    [{data: {parameter: '__proto__'}}, '-params.arguments.__proto__'],
  ]
  for (const [failure, want] of cases) {
    const got = faults(CALL, failure).map(({path, missing}) => (missing ? '-' : '') + path.join('.')).join(' ')
    assert.equal(got, want, JSON.stringify(failure))
  }
})

test('other requests have their own faulty parts', () => {
  const read = {method: 'resources/read', params: {uri: 'a:b', _meta: {'io.modelcontextprotocol/protocolVersion': '2030-01-01'}}}
  assert.deepEqual(faults(read, {code: -32002, data: {uri: 'a:b'}}), [{path: ['params', 'uri'], missing: false}])
  const version = ['params', '_meta', 'io.modelcontextprotocol/protocolVersion']
  assert.deepEqual(faults(read, {code: -32022}), [{path: version, missing: false}])
  assert.deepEqual(faults({method: 'x'}, {code: -32600, text: ''}), [])
  assert.deepEqual(faults(null, {code: -32602, data: null}), [])
})

test('the request is printed with its marks', () => {
  const lines = mark({params: {arguments: {depth: 'deep', list: [1, {}]}}}, {data: {errors: [{path: 'list'}, {path: 'limit'}]}})
  const got = lines.map(({text, mark, note}) => `${mark ? mark[0] : ' '}${text}${note ? ` (${note})` : ''}`)
  assert.deepEqual(got, [
    ' {', '   "params": {', 'm    "arguments": { (limit is missing here)', '       "depth": "deep",',
    'w      "list": [', 'w        1,', 'w        {}', 'w      ]', '     }', '   }', ' }',
  ])
  const value = {a: [1, {b: null}, []], c: {}, d: 'x\ny'}
  assert.equal(mark(value, {}).map((line) => line.text).join('\n'), JSON.stringify(value, null, 2))
})
