// Rows of diff.js: their content, that they rebuild both texts, and that they stay bounded.
import assert from 'node:assert/strict'
import {test} from 'node:test'
import {diff} from '../../../crates/inspector/assets/diff.js'

const signs = {same: '=', changed: '~', gone: '-', new: '+'}
const shown = ({rows}) => rows.map((row) => signs[row.kind] + (row.kind === 'new' ? row.right : row.left)[1]).join(' ')
const side = ({rows}, name) => rows.flatMap((row) => (row[name] ? [row[name]] : []))

const table = [
  ['a\nb', 'a\nb', '=a =b'],
  ['a\nb', 'a\nc', '=a ~b'],
  ['a\nb\nc', 'a\nc', '=a -b =c'],
  ['a\nc', 'a\nb\nc', '=a +b =c'],
  ['', 'a', '~'],
  ['a\nb\nc\na\nb\nb\na', 'c\nb\na\nb\na\nc', '-a -b =c +b =a =b -b =a +c'],
  ['x\ny\nz', 'p\nq', '~x ~y -z'],
]
for (const [before, after, want] of table) {
  test(`${JSON.stringify(before)} to ${JSON.stringify(after)}`, () => assert.equal(shown(diff(before, after)), want))
}

function check(before, after) {
  const made = diff(before, after)
  for (const [name, text] of [['left', before], ['right', after]]) {
    assert.deepEqual(side(made, name), text.split('\n').map((line, index) => [index + 1, line]))
  }
  for (const {kind, left, right} of made.rows) {
    if (kind === 'same') assert.equal(left[1], right[1])
  }
  return made
}

test('any two texts can be rebuilt from their rows, and no shorter way is missed', () => {
  let seed = 7
  const random = (most) => (seed = (seed * 48271) % 2147483647) % most
  const lines = () => Array.from({length: random(12)}, () => 'abc'[random(3)])
  const common = (a, b) => {
    const best = Array.from({length: a.length + 1}, () => Array(b.length + 1).fill(0))
    a.forEach((one, i) => b.forEach((other, j) => {
      best[i + 1][j + 1] = one === other ? best[i][j] + 1 : Math.max(best[i][j + 1], best[i + 1][j])
    }))
    return best[a.length][b.length]
  }
  for (let round = 0; round < 500; round += 1) {
    const [a, b] = [['x', ...lines()], ['y', ...lines()]]
    const made = check(a.join('\n'), b.join('\n'))
    assert.equal(made.rows.filter((row) => row.kind === 'same').length, common(a, b), `${a} ${b}`)
  }
})
test('texts that differ in everything are shown as replaced', () => {
  const many = (name) => Array.from({length: 15_000}, (_, index) => `${name}${index}`).join('\n')
  const {rows, cut} = check(`start\n${many('a')}\nend`, `start\n${many('b')}\nend`)
  assert.deepEqual([rows[0].kind, rows[1].kind, rows.at(-1).kind, cut], ['same', 'changed', 'same', 0])
})
test('omitted lines are counted', () => {
  const {rows, cut} = diff('x\n'.repeat(30_000), 'y')
  assert.deepEqual([rows.length, cut], [20_000, 10_001])
})
