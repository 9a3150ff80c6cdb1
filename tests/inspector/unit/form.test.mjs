// Initial values of a form: the schema's defaults, and nothing that the user did not choose.
import assert from 'node:assert/strict'
import {test} from 'node:test'
import {startOf} from '../../../crates/inspector/assets/form.js'

const object = (properties, required = [], more = {}) => ({type: 'object', properties, required, ...more})
const text = {type: 'string'}

const starts = [
  ['no schema', undefined, undefined],
  ['a value that is not a schema', '<b>schema</b>', undefined],
  ['no properties', {type: 'object'}, {}],
  ['no type', {properties: {a: {default: 1}}}, {a: 1}],
  ['defaults, required or not', object({a: {type: 'integer', default: 5}, b: {default: null}, c: {default: false}}, ['a']), {a: 5, b: null, c: false}],
  ['nothing is made up', object({a: text, b: {type: 'array'}, c: {type: 'boolean'}}, ['a', 'b', 'c']), {}],
  ['the default of the whole', object({a: {default: 1}}, [], {default: {a: 2}}), {a: 2}],
  ['what can only be one value, where it is required', object({a: {const: 'x'}, b: {enum: ['y']}, c: {const: 'z'}, d: {enum: [1, 2]}}, ['a', 'b', 'd']), {a: 'x', b: 'y'}],
  ['required objects, with their defaults', object({a: object({b: {default: 1}, c: object({}, [])}, ['c'])}, ['a']), {a: {b: 1, c: {}}}],
  ['optional objects stay out', object({a: object({b: {default: 1}})}), {}],
  ['references', object({a: {$ref: '#/$defs/a'}}, [], {$defs: {a: {default: 'there'}}}), {a: 'there'}],
  ['references without a target', object({a: {$ref: '#/$defs/b'}, b: {$ref: 'http://pwned.invalid/'}}, ['a', 'b']), {}],
  ['parts of allOf', {allOf: [object({a: {default: 1}}), object({b: {default: 2}})]}, {a: 1, b: 2}],
  ['unions are chosen by the user', object({a: {anyOf: [text, {type: 'null'}]}, b: {oneOf: [text], default: 'b'}}, ['a']), {b: 'b'}],
  ['broken keywords', {type: 'object', properties: 7, required: 'a'}, {}],
]

for (const [name, schema, wanted] of starts) {
  test(`initial value of a form: ${name}`, () => assert.deepEqual(startOf(schema), wanted))
}

test('names that objects have already are fields like others', () => {
  const schema = JSON.parse('{"type": "object", "properties": {"__proto__": {"default": "p"}, "constructor": {"default": 1}, "toString": {"type": "string"}}}')
  const start = startOf(schema)
  assert.equal(JSON.stringify(start), '{"__proto__":"p","constructor":1}')
  assert.equal(Object.getPrototypeOf(start), Object.prototype)
})

test('a schema that holds itself ends', () => {
  const self = object({self: {$ref: '#'}}, ['self'])
  assert.ok(JSON.stringify(startOf(self)).length < 200)
})

test('a schema that unfolds without end is followed for a while', () => {
  const wide = object(Object.fromEntries(Array.from({length: 20}, (_, at) => [`f${at}`, {$ref: '#'}])), Array.from({length: 20}, (_, at) => `f${at}`))
  assert.ok(JSON.stringify(startOf(wide)).length < 200_000)
  const parts = {type: 'object', allOf: Array(20).fill({$ref: '#'})}
  assert.deepEqual(startOf(parts), {})
})
