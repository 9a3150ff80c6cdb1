// The estimate matches crates/hub/src/tokens.rs: both use the same table.
import assert from 'node:assert/strict'
import {test} from 'node:test'
import {cost, estimate} from '../../../crates/inspector/assets/tokens.js'

const table = [
  ['', 0], ['hello world', 2], ['internationalization', 2], ['readOnlyHint', 3], ['HTTPServer', 2], ['1234567', 3],
  ['{"a":{', 3], ['a\n\nb', 4], ['日本', 2], ['😀', 1], [' ', 0], ['\u000b', 1], ['a\tb', 3], ['A', 1], ['Ab', 1], ['ABc', 2],
]
for (const [text, want] of table) test(JSON.stringify(text), () => assert.equal(estimate(text), want))

test('a definition is counted as compact JSON', () => {
  const definition = {name: 'get-sum', inputSchema: {type: 'object', properties: {a: {type: 'number'}}}}
  assert.equal(cost(definition), estimate('{"name":"get-sum","inputSchema":{"type":"object","properties":{"a":{"type":"number"}}}}'))
})
