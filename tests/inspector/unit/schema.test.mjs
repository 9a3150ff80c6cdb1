// Validation of valid and invalid values by schema.js, and that no schema makes it hang.
import assert from 'node:assert/strict'
import {test} from 'node:test'
import {check} from '../../../crates/inspector/assets/schema.js'

const text = {type: 'string'}

// schema, valid values, invalid values as [value, path, part of the reason]
const table = [
  ['no limits', {}, [1, null, {}], []],
  ['true and false', {properties: {a: true, b: false}}, [{a: 1}], [[{b: 1}, '/b', 'not allowed']]],
  ['type', text, ['x', ''], [[1, '', 'must be a string, not a number'], [null, '', 'not null']]],
  ['types', {type: ['integer', 'null']}, [1, 2.0, null], [[1.5, '', 'an integer or null'], [[], '', 'not an array']]],
  ['enum', {enum: ['a', 1, {b: [1]}]}, ['a', 1, {b: [1]}], [['b', '', 'one of "a", 1'], [{b: [2]}, '', 'one of']]],
  ['const', {const: {a: 1, b: 2}}, [{b: 2, a: 1}], [[{a: 1}, '', 'must be {']]],
  ['required', {required: ['a', 'b/c']}, [{a: 1, 'b/c': 1}, 'no object'], [[{a: 1}, '/b~1c', 'is required']]],
  ['properties', {properties: {a: text, '~x': text}}, [{}, {a: ''}], [[{a: 1}, '/a', 'string'], [{'~x': 1}, '/~0x', 'string']]],
  ['inherited names', {required: ['toString'], additionalProperties: false}, [], [
    [{}, '/toString', 'required'], [JSON.parse('{"__proto__": 1, "toString": 1}'), '/__proto__', 'not a field']]],
  ['additional', {properties: {a: {}}, additionalProperties: {type: 'number'}}, [{a: 'x', b: 1}], [[{b: 'x'}, '/b', 'number']]],
  ['patterns of names', {patternProperties: {'^x-': text}, additionalProperties: false}, [{'x-a': ''}], [
    [{'x-a': 1}, '/x-a', 'string'], [{y: 1}, '/y', 'not a field']]],
  ['a pattern that is not evaluated', {patternProperties: {'(?=x)x': text}, additionalProperties: false}, [{xy: 1}], []],
  ['names', {propertyNames: {maxLength: 2}}, [{ab: 1}], [[{abc: 1}, '/abc', 'name that must have at most 2 characters']]],
  ['counts of fields', {minProperties: 1, maxProperties: 2}, [{a: 1}], [[{}, '', 'at least 1 field.'], [{a: 1, b: 1, c: 1}, '', 'at most 2']]],
  ['items', {items: text}, [[], ['a']], [[['a', 1], '/1', 'string']]],
  ['tuples', {prefixItems: [text, {type: 'number'}], items: false}, [['a'], ['a', 1]], [[['a', 'b'], '/1', 'number'], [['a', 1, 2], '/2', 'not allowed']]],
  ['tuples of draft-07', {items: [text], additionalItems: {type: 'null'}}, [['a', null]], [[['a', 1], '/1', 'null']]],
  ['counts of items', {minItems: 1, maxItems: 2}, [[1]], [[[], '', 'at least 1 item.'], [[1, 2, 3], '', 'at most 2 items']]],
  ['unique', {uniqueItems: true}, [[1, '1', {a: 1}]], [[[{a: 1, b: 2}, 3, {b: 2, a: 1}], '/2', 'duplicates item 0']]],
  ['contains', {contains: text, maxContains: 2}, [[1, 'a']], [[[1], '', 'at least 1 item'], [['a', 'b', 'c'], '', 'at most 2']]],
  ['limits', {minimum: 1, exclusiveMaximum: 3}, [1, 2.9], [[0, '', 'at least 1'], [3, '', 'less than 3']]],
  ['other limits', {maximum: 3, exclusiveMinimum: 1}, [3], [[1, '', 'more than 1'], [4, '', 'at most 3']]],
  ['multiples', {multipleOf: 0.1}, [0.3, 1e6, 0], [[0.35, '', 'multiple of 0.1']]],
  ['lengths by code points', {minLength: 2, maxLength: 3}, ['😀😀', '😀😀😀'], [['😀', '', 'at least 2'], ['abcd', '', 'at most 3']]],
  ['patterns', {pattern: '^[a-z]+(-[a-z0-9]+)*$'}, ['a', 'ab-1-c'], [['a--b', '', 'match the pattern'], ['A', '', 'pattern']]],
  ['patterns anywhere', {pattern: 'b{2,3}|\\d$'}, ['abba', 'x1'], [['abab', '', 'pattern']]],
  ['patterns with classes', {pattern: '^[\\w.-]{1,3}\\.(?:js|ts)x?$'}, ['a.js', 'a-b.tsx'], [['abcd.js', '', 'pattern'], ['.js.', '', '']]],
  ['patterns with Unicode', {pattern: '^\\p{Lu}.\\u{1F600}?$'}, ['Éx', 'A😀😀'], [['éx', '', 'pattern']]],
  ['patterns with edges', {pattern: '\\bcat\\b'}, ['a cat.'], [['concat', '', 'pattern']]],
  ['patterns with nothing in them', {pattern: '^(|a|())*$'}, ['', 'aaa'], [['b', '', 'pattern']]],
  ['patterns left to the server', {pattern: '^(?=.*\\d).{8,}$'}, ['short'], []],
  ['patterns with repeats', {pattern: '(a)\\1'}, ['b'], []],
  ['broken patterns', {pattern: '('}, [], [['x', '', 'invalid pattern']]],
  ['allOf', {allOf: [text, {minLength: 2}]}, ['ab'], [['a', '', 'at least 2']]],
  ['anyOf', {anyOf: [text, {type: 'null'}]}, ['a', null], [[1, '', 'none of the alternatives: must be a string, not a number; or']]],
  ['anyOf reports the likely alternative', {anyOf: [{type: 'object', required: ['a']}, text]}, ['x'], [[{}, '/a', 'required']]],
  ['oneOf', {oneOf: [{type: 'number'}, {type: 'integer'}]}, [1.5], [[1, '', 'matches 2 of the alternatives']]],
  ['not', {not: text}, [1], [['x', '', 'excluded']]],
  ['if', {if: {properties: {a: {const: 1}}}, then: {required: ['b']}, else: {required: ['c']}}, [{a: 1, b: 1}, {a: 2, c: 1}], [
    [{a: 1}, '/b', 'required'], [{a: 2}, '/c', 'required']]],
  ['dependents', {dependentRequired: {a: ['b']}, dependentSchemas: {c: {required: ['d']}}}, [{}, {a: 1, b: 1}], [
    [{a: 1}, '/b', 'when "a" is present'], [{c: 1}, '/d', 'required']]],
  ['dependencies of draft-07', {dependencies: {a: ['b']}}, [{b: 1}], [[{a: 1}, '/b', 'required']]],
  ['references', {$ref: '#/$defs/a~1b', $defs: {'a/b': {$ref: '#/definitions/n'}}, definitions: {n: {type: 'number'}}}, [1], [['x', '', 'number']]],
  ['anchors', {$ref: '#me', $defs: {x: {$anchor: 'me', type: 'number'}}}, [1], [['x', '', 'number']]],
  ['references without a target', {properties: {a: {$ref: '#/$defs/no'}}}, [{}], [[{a: 1}, '/a', 'missing schema']]],
  ['references elsewhere', {$ref: 'http://127.0.0.1/x'}, [], [[1, '', 'missing schema']]],
  ['trees', {$defs: {t: {properties: {kids: {items: {$ref: '#/$defs/t'}}}, required: ['kids']}}, $ref: '#/$defs/t'}, [{kids: [{kids: []}]}], [
    [{kids: [{kids: [{}]}]}, '/kids/0/kids/0/kids', 'required']]],
  ['invalid schemas', {properties: {a: 5}, required: 'x', enum: 'y', allOf: 7, items: null}, [{}], [[{a: 1}, '/a', 'invalid schema']]],
  ['date', {format: 'date'}, ['2024-02-29', '2000-02-29'], [['2023-02-29', '', 'a date'], ['1900-02-29', '', 'date'], ['2024-13-01', '', 'date']]],
  ['time', {format: 'time'}, ['12:30:00', '23:59:60Z', '01:02:03.5+02:00'], [['24:00:00', '', 'a time'], ['12:30', '', 'a time']]],
  ['date-time', {format: 'date-time'}, ['2024-01-31T12:30:00Z'], [['2024-01-31', '', 'date and time'], ['2024-01-31T12:30:00', '', 'date and time']]],
  ['email', {format: 'email'}, ['a.b+c@x.org'], [['a@', '', 'email'], ['a b@c', '', 'email']]],
  ['uri', {format: 'uri'}, ['https://x.org/a?b#c', 'file:///x', 'urn:a:b'], [['/x', '', 'a URI'], ['http://a b', '', 'a URI']]],
  ['uuid', {format: 'uuid'}, ['123e4567-e89b-12d3-a456-426614174000'], [['123e4567', '', 'UUID']]],
  ['ipv4', {format: 'ipv4'}, ['127.0.0.1'], [['256.0.0.1', '', 'IPv4'], ['1.2.3', '', 'IPv4'], ['1.2.3.4.', '', 'IPv4'], ['01.2.3.4', '', 'IPv4']]],
  ['ipv6', {format: 'ipv6'}, ['::1', '::', '1:2:3:4:5:6:7:8', '::ffff:1.2.3.4'], [['1::2::3', '', 'IPv6'], ['1:2', '', 'IPv6'], [':1', '', 'IPv6']]],
  ['hostname', {format: 'hostname'}, ['a.example-1.org'], [['-a.org', '', 'host'], ['a..b', '', 'host']]],
  ['unknown formats', {format: 'toString'}, ['x'], []],
]

for (const [name, schema, good, bad] of table) {
  test(name, () => {
    for (const value of good) assert.deepEqual(check(schema, value), [], JSON.stringify(value))
    for (const [value, path, reason] of bad) {
      const problems = check(schema, value)
      const hit = problems.find((one) => one.path === path && one.reason.includes(reason))
      assert.ok(hit, `${JSON.stringify(value)}: ${JSON.stringify(problems)}`)
    }
  })
}

const nested = (depth, wrap, inner) => Array.from({length: depth}).reduce(wrap, inner)
const doubled = () => Object.fromEntries(Array.from({length: 40}, (_, i) =>
  [`d${i}`, {allOf: [{$ref: `#/$defs/d${i + 1}`}, {$ref: `#/$defs/d${i + 1}`}]}]))

const hostile = {
  'a reference to itself': [{$ref: '#'}, 1, 'refers to itself'],
  'two that refer to each other': [{$defs: {a: {$ref: '#/$defs/b'}, b: {$ref: '#/$defs/a'}}, $ref: '#/$defs/a'}, 1, 'itself'],
  'a bomb of references': [{$defs: {...doubled(), d40: {}}, $ref: '#/$defs/d0'}, 1, 'expands too far'],
  'a bomb of choices': [{$defs: {x: {anyOf: Array(9).fill({items: {$ref: '#/$defs/x'}, minItems: 1})}}, $ref: '#/$defs/x'},
    nested(100, (inner) => [inner], []), /expands|deep/],
  'a deep schema': [nested(5000, (inner) => ({not: inner}), {}), 1, 'too deep'],
  'a deep value in an enum': [{enum: [nested(5000, (inner) => [inner], 1)]}, nested(5000, (inner) => [inner], 2), 'too deep'],
  'many equal items': [{uniqueItems: true}, Array(300_000).fill(0), 'expands too far'],
}

for (const [name, [schema, value, reason]] of Object.entries(hostile)) {
  test(`ends: ${name}`, () => {
    const problems = check(schema, value)
    assert.match(problems[0]?.reason ?? '', reason instanceof RegExp ? reason : new RegExp(reason))
    assert.ok(problems.length <= 200)
  })
}

// Each of these takes a backtracking engine far too long.
for (const pattern of ['^(a+)+$', '^(a|a)*$', '^(a|aa|aaa)*$', '^a*a*a*a*a*a*a*$', '^((a{1,40}){1,40})$', '^(([a-z])+.)+[A-Z]([a-z])+$']) {
  test(`ends: the pattern ${pattern}`, () => {
    const problems = check({pattern}, `${'a'.repeat(2000)}!`)
    assert.ok(problems.length <= 1)
  })
}
test('patterns and texts that are too long are not evaluated', () => {
  assert.deepEqual(check({pattern: 'x'.repeat(501)}, 'y'), [])
  assert.deepEqual(check({pattern: 'x'}, 'y'.repeat(10_001)), [])
  assert.equal(check({pattern: 'x'}, 'y'.repeat(10_000)).length, 1)
})
test('states run as the language\'s regex engine does', () => {
  const patterns = ['a?b', '(?:ab|c)+d', '[^a]b', 'a{2}', 'a{2,}b', '^$', 'x*', '(a|b)*abb', '.\\.', '\\Bb', '[a\\]]+$', 'a{,2}']
  const texts = ['', 'b', 'ab', 'aab', 'abab', 'cd', 'abcd', 'aabb', 'babb', 'a.', ']', 'a{,2}', 'xx']
  for (const pattern of patterns) {
    for (const one of texts) {
      assert.equal(check({pattern}, one).length === 0, new RegExp(pattern).test(one), `${pattern} in ${JSON.stringify(one)}`)
    }
  }
})
