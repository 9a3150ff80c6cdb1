// The trees that markdown.js builds, in short form, and that hostile text is parsed in time.
import assert from 'node:assert/strict'
import {test} from 'node:test'
import {parse} from '../../../crates/inspector/assets/markdown.js'

const short = {
  heading: (one) => `h${one.level}(${spans(one.children)})`,
  paragraph: (one) => `p(${spans(one.children)})`,
  code: (one) => `pre${one.language ? `:${one.language}` : ''}(${one.text})`,
  quote: (one) => `quote(${blocks(one.children)})`,
  list: (one) => `${one.ordered ? `ol${one.start}` : 'ul'}(${one.items.map(blocks).join(' | ')})`,
  table: (one) => `table(${[one.head, ...one.rows].map((row) => row.map(spans).join(', ')).join(' / ')})`,
  rule: () => 'rule',
}
const spanOf = (one) => {
  if (one.type === 'text') return one.text
  if (one.type === 'code') return `\`${one.text}\``
  return `${one.type}(${one.href ? `${one.href}: ` : ''}${spans(one.children)})`
}
const spans = (all) => all.map(spanOf).join('')
const blocks = (all) => all.map((one) => short[one.type](one)).join(' ')

const table = [
  ['', ''],
  ['one\ntwo\n\nthree', 'p(one\ntwo) p(three)'],
  ['# A #\n###### f\n####### g', 'h1(A) h6(f) p(####### g)'],
  ['#no heading', 'p(#no heading)'],
  ['Title\n===\nOther\n---', 'h1(Title) h2(Other)'],
  ['---\n***\n_ _ _', 'rule rule rule'],
  ['```js\nlet a = "<b>"\n# no\n```\nafter', 'pre:js(let a = "<b>"\n# no) p(after)'],
  ['~~~\n```\n~~~', 'pre(```)'],
  ['```\nnever closed', 'pre(never closed)'],
  ['    code\n\n    more', 'pre(code\n\nmore)'],
  ['> a\n> > b\nc', 'quote(p(a) quote(p(b))) p(c)'],
  ['- a\n- b\n  - c\n    d\n- e', 'ul(p(a) | p(b) ul(p(c\nd)) | p(e))'],
  ['3. a\n4. b\n\ntext', 'ol3(p(a) | p(b)) p(text)'],
  ['- a\n\n- b\n\n  more of b', 'ul(p(a) | p(b) p(more of b))'],
  ['* a\n+ b', 'ul(p(a)) ul(p(b))'],
  ['text\n- a', 'p(text) ul(p(a))'],
  ['| a | b |\n|---|:-:|\n| 1 | `x|y` |\n| 2 |', 'table(a, b / 1, `x|y` / 2)'],
  ['a | b\n--- | ---\n1 \\| 2 | 3 | 4', 'table(a, b / 1 | 2, 3)'],
  ['a | b\nno table', 'p(a | b\nno table)'],
  ['*a* **b** ***c*** _d_ __e__ ~~f~~', 'p(em(a) strong(b) both(c) em(d) strong(e) del(f))'],
  ['**bold *and em* more**', 'p(strong(bold em(and em) more))'],
  ['snake_case_name 2 * 3 * 4 **', 'p(snake_case_name 2 * 3 * 4 **)'],
  ['*open and **closed**', 'p(*open and strong(closed))'],
  ['a `b` ``c ` d`` `` ` `` `e', 'p(a `b` `c ` d` ``` `e)'],
  ['\\*no\\* \\` \\a', 'p(*no* ` \\a)'],
  ['[t](https://x.org/a "title")', 'p(link(https://x.org/a: t))'],
  ['[**b** `c`](http://x)', 'p(link(http://x: strong(b) `c`))'],
  ['see https://x.org/a_b_c. And <https://y.org>', 'p(see link(https://x.org/a_b_c: https://x.org/a_b_c). And link(https://y.org: https://y.org))'],
  ['![alt](https://x/y.png)', 'p(link(https://x/y.png: alt))'],
  ['[t](javascript:alert(1))', 'p(t (javascript:alert(1)))'],
  ['[t](data:text/html,x) [r](/x) [f](file:///etc)', 'p(t (data:text/html,x) r (/x) f (file:///etc))'],
  ['[t] (x) [a][b] ] [', 'p([t] (x) [a][b] ] [)'],
  ['<script>alert(1)</script>\n<img src=x onerror=y>', 'p(<script>alert(1)</script>\n<img src=x onerror=y>)'],
  ['a &lt; b', 'p(a &lt; b)'],
  ['x\r\ny\rz', 'p(x\ny\nz)'],
]
for (const [text, want] of table) test(JSON.stringify(text), () => assert.equal(blocks(parse(text)), want))

// Each makes a careless parser take quadratic time or recurse too deep. The limit is far above
// what they take (milliseconds) and far below quadratic time.
const hostile = ['[', '![', '[](', '](', '*', '*a ', '**a*', '_a_', '`', '`a``', '>', '> ', '- ', '\t- ', '  -\n', '|', '|-\n', '<', 'h', 'http://',
  '\\', '~~~\n', '#', '# \n', ' ', '\n', '1. ', '1. a\n\n', '[a](b ', '***a', '- a\n ', '>- ', '=\n', 'https://x.,', '<https://x ', '~', '- - ', '+ a\n\n\n']
for (const piece of hostile) {
  test(`ends: many ${JSON.stringify(piece)}`, () => {
    const long = piece.repeat(Math.floor(200_000 / piece.length))
    const start = performance.now()
    parse(long)
    parse(`${long}x`)
    assert.ok(performance.now() - start < 20_000, `${performance.now() - start} ms`)
  })
}
test('nothing goes so deep that showing it fails', () => {
  const deep = (all) => 1 + Math.max(0, ...all.map((one) => deep([one.children ?? [], one.items ?? []].flat(2))))
  for (const piece of ['> ', '- ', '**a *b ', '[', '1. ']) assert.ok(deep(parse(piece.repeat(5000) + 'x')) < 60, piece)
})
