// Stored calls: order, limits, reloads, and marking of server data.
import assert from 'node:assert/strict'
import {test} from 'node:test'
import {History, MOST_CALLS, MOST_SAVED, historyOf} from '../../../crates/inspector/assets/history.js'

// A store like the page's; `kept` is its content after a reload.
function makeStore(kept = {}) {
  return {
    kept,
    get: (key, otherwise = null) => (Object.hasOwn(kept, key) ? JSON.parse(kept[key]) : otherwise),
    set: (key, value) => {
      if (value === null || value === undefined) delete kept[key]
      else kept[key] = JSON.stringify(value)
    },
  }
}

const call = (tool, more = {}) => ({at: 1, ms: 5, tool, args: {a: 1}, result: {content: []}, ...more})
const large = (bytes) => ({content: [{type: 'text', text: 'x'.repeat(bytes)}]})

test('the newest call comes first, and each has an id of its own', () => {
  const history = new History(makeStore())
  for (const tool of ['a', 'b', 'a']) history.add(call(tool))
  assert.deepEqual(history.calls().map((one) => one.tool), ['a', 'b', 'a'])
  assert.equal(history.calls('a').length, 2)
  assert.equal(new Set(history.calls().map((one) => one.id)).size, 3)
  const [first] = history.calls()
  assert.deepEqual(history.find(first.id), first)
  assert.equal(history.find('none'), null)
})

test('calls outlive a reload, with arguments, result and error', () => {
  const {kept} = (() => {
    const store = makeStore()
    const history = new History(store)
    history.add(call('ok'))
    history.add(call('bad', {result: undefined, error: {code: -32602, message: 'no', data: {path: '/a'}}}))
    return store
  })()
  const [bad, ok] = new History(makeStore(kept)).calls()
  assert.equal(bad.error.data.path, '/a')
  assert.equal(ok.args.a, 1)
})

test('a limited number of calls is kept', () => {
  const history = new History(makeStore())
  for (let number = 0; number < MOST_CALLS + 20; number += 1) history.add(call('t', {args: {number}}))
  assert.equal(history.calls().length, MOST_CALLS)
  assert.equal(history.calls()[0].args.number, MOST_CALLS + 19)
})

test('all calls together stay within what a browser keeps', () => {
  const store = makeStore()
  const history = new History(store)
  for (let number = 0; number < MOST_CALLS; number += 1) history.add(call('t', {result: large(50_000)}))
  assert.ok(store.kept.calls.length < 2_000_000, `${store.kept.calls.length}`)
  assert.ok(history.calls().length > 10)
})

test('a large result is kept in memory, and reported as not stored after a reload', () => {
  const store = makeStore()
  const history = new History(store)
  history.add(call('t', {result: large(500_000)}))
  assert.equal(history.calls()[0].result.content[0].text.length, 500_000)
  const [after] = new History(makeStore(store.kept)).calls()
  assert.equal(after.result, undefined)
  assert.ok(after.left >= 500_000)
  assert.equal(after.args.a, 1)
})

test('a large error keeps its code', () => {
  const store = makeStore()
  new History(store).add(call('t', {result: undefined, error: {code: 7, message: 'm'.repeat(100_000)}}))
  const [after] = new History(makeStore(store.kept)).calls()
  assert.equal(after.error.code, 7)
  assert.ok(after.error.message.length <= 1000)
})

test('one tool can be forgotten, or all', () => {
  const history = new History(makeStore())
  for (const tool of ['a', 'b', 'a']) history.add(call(tool))
  history.forget('a')
  assert.deepEqual(history.calls().map((one) => one.tool), ['b'])
  history.forget()
  assert.deepEqual(history.calls(), [])
})

test('saved calls have a name a tool, the newest first', () => {
  const history = new History(makeStore())
  history.save('t', 'one', {n: 1})
  history.save('t', 'two', {n: 2})
  history.save('t', 'one', {n: 3})
  history.save('other', 'one', {n: 4})
  assert.deepEqual(history.saved('t').map(({name, args}) => [name, args.n]), [['one', 3], ['two', 2]])
  history.unsave('t', 'one')
  assert.deepEqual(history.saved('t').map(({name}) => name), ['two'])
  assert.equal(history.saved().length, 2)
  assert.equal(history.save('t', 'big', {text: 'x'.repeat(100_000)}), false)
  for (let number = 0; number < MOST_SAVED + 5; number += 1) history.save('t', `n${number}`, {})
  assert.equal(history.saved().length, MOST_SAVED)
})

test('what another tab adds is not lost', () => {
  const store = makeStore()
  const [one, other] = [new History(store), new History(store)]
  one.add(call('a'))
  other.add(call('b'))
  one.add(call('c'))
  assert.deepEqual(one.calls().map(({tool}) => tool), ['c', 'b', 'a'])
})

test('what was kept is never taken for properties of the page', () => {
  const store = makeStore()
  const history = new History(store)
  history.add(call('t', {result: {content: [{type: 'text', text: {onclick: 'x', href: 'javascript:x'}}]}}))
  const [kept] = history.calls()
  assert.notEqual(kept.result.content[0].text.constructor, Object)
})

test('a store that is broken holds no calls', () => {
  for (const broken of ['7', '"text"', '{"a": 1}', '[null, 7]']) {
    const history = new History(makeStore({calls: broken, saved: broken}))
    assert.deepEqual(history.calls(), [])
    assert.deepEqual(history.saved(), [])
  }
})

test('a store has one history', () => {
  const store = makeStore()
  assert.equal(historyOf(store), historyOf(store))
  assert.notEqual(historyOf(store), historyOf(makeStore()))
})
