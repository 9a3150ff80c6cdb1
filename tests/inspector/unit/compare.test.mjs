// Results as lines, and which lines are collapsed.
import assert from 'node:assert/strict'
import {test} from 'node:test'
import {folded, readable} from '../../../crates/inspector/assets/compare.js'

const texts = [
  ['a text', {result: {content: [{type: 'text', text: 'a\nb'}]}}, 'a\nb'],
  ['JSON in a text, over several lines', {result: {content: [{type: 'text', text: '{"a":[1]}'}]}}, '{\n  "a": [\n    1\n  ]\n}'],
  ['a text that only begins like JSON', {result: {content: [{type: 'text', text: '{not'}]}}, '{not'],
  ['other blocks', {result: {content: [{type: 'image', data: 'x'}, null]}}, '{\n  "type": "image",\n  "data": "x"\n}\nnull'],
  ['what is beside the content', {result: {content: [], structuredContent: {n: 1}}}, '{\n  "structuredContent": {\n    "n": 1\n  }\n}'],
  ['content that is not a list', {result: {content: 'text'}}, '"text"'],
  ['an error', {error: {code: 1, message: 'm'}}, 'error {\n  "code": 1,\n  "message": "m"\n}'],
  ['no answer', {}, ''],
]

for (const [name, call, wanted] of texts) {
  test(`a call as lines: ${name}`, () => assert.equal(readable(call), wanted))
}

const rows = (kinds) => [...kinds].map((sign) => ({kind: sign === '=' ? 'same' : 'changed'}))
const shown = (kinds) => folded(rows(kinds)).map((run) => (run.folded ? `(${run.rows.length})` : run.rows.length)).join(' ')

for (const [kinds, wanted] of [
  ['', ''], ['=', '1'], ['='.repeat(8), '8'], ['='.repeat(9), '(9)'], ['~', '1'],
  [`${'='.repeat(20)}~${'='.repeat(20)}`, '(17) 7 (17)'], [`~${'='.repeat(6)}~`, '8'], [`~${'='.repeat(10)}~`, '4 4 4'],
]) {
  test(`folding ${kinds || 'nothing'}`, () => assert.equal(shown(kinds), wanted))
}
