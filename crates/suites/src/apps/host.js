// Talks to the client that shows this page: JSON-RPC 2.0 over postMessage, per MCP Apps (2026-01-26).

const REVISION = '2026-01-26'
const waiting = new Map()
let last = 0
// Capabilities announced by the host.
let able = {}

function send(message) {
  // A sandboxed page does not know the host's origin; only its parent receives this.
  parent.postMessage({jsonrpc: '2.0', ...message}, '*')
}

// Sends a request to the host. Throws its error message.
function ask(method, params) {
  const id = (last += 1)
  return new Promise((resolve, reject) => {
    waiting.set(id, {resolve, reject})
    send({id, method, params})
  })
}

// Calls a tool of the server through the host. Throws the tool's error message.
async function call(name, args) {
  const result = await ask('tools/call', {name, arguments: args})
  if (result.isError) throw new Error(resultText(result) || `${name} failed and does not say why.`)
  return result
}

function openLink(url) {
  return ask('ui/open-link', {url}).catch(() => {})
}

// The text of a result, as a model sees it.
function resultText(result) {
  const blocks = Array.isArray(result?.content) ? result.content : []
  return blocks.filter((block) => block.type === 'text').map((block) => block.text).join('\n\n')
}

function answer({id, method}) {
  if (method === 'ping' || method === 'ui/resource-teardown') send({id, result: {}})
  else send({id, error: {code: -32601, message: `This page does not know ${method}.`}})
}

function dress({theme, styles}) {
  const root = document.documentElement
  if (theme) root.style.setProperty('color-scheme', theme)
  for (const [name, value] of Object.entries(styles?.variables ?? {})) {
    if (name.startsWith('--') && value) root.style.setProperty(name, value)
  }
}

// Reports the size of the page to the host whenever it changes.
function tellSize() {
  let before = ''
  new ResizeObserver(() => {
    const {width, height} = document.documentElement.getBoundingClientRect()
    const size = {width: Math.ceil(width), height: Math.ceil(height)}
    if (before === (before = JSON.stringify(size))) return
    send({method: 'ui/notifications/size-changed', params: size})
  }).observe(document.documentElement)
}

// Initializes, then passes on what the host reports about the call that this page belongs to:
// `input(arguments)`, `result(result)`; `ready(context)` comes first, even without a call.
async function begin({ready, input, result}) {
  const heard = {
    'ui/notifications/tool-input': (params) => input(params.arguments ?? {}),
    'ui/notifications/tool-result': (params) => during('', () => result(params)),
    'ui/notifications/tool-cancelled': (params) => say(params.reason || 'The call was canceled.'),
    'ui/notifications/host-context-changed': dress,
  }
  addEventListener('message', ({source, data}) => {
    if (source !== parent || data?.jsonrpc !== '2.0') return
    if (typeof data.method !== 'string') {
      const asked = waiting.get(data.id)
      waiting.delete(data.id)
      if (data.error) asked?.reject(new Error(data.error.message || 'The host rejected the request.'))
      else asked?.resolve(data.result ?? {})
    } else if (data.id !== undefined) answer(data)
    else heard[data.method]?.(data.params ?? {})
  })
  const params = {protocolVersion: REVISION, appInfo: {name: `docent: ${TITLE}`, version: VERSION},
    appCapabilities: {availableDisplayModes: ['inline', 'fullscreen']}}
  const host = await ask('ui/initialize', params)
  able = host.hostCapabilities ?? {}
  dress(host.hostContext ?? {})
  send({method: 'ui/notifications/initialized', params: {}})
  ready(host.hostContext ?? {})
  tellSize()
}

// h('button.small', {onclick, disabled: true}, 'Run', node, [more]): names with `on` are listeners, `style` is an
// object; false, null and undefined leave a child or an attribute out. Text becomes text nodes.
function h(spec, properties, ...children) {
  const [tag, ...classes] = spec.split('.')
  const node = document.createElement(tag)
  node.className = classes.join(' ')
  if (properties?.constructor !== Object) children.unshift(properties)
  else for (const [name, value] of Object.entries(properties)) set(node, name, value)
  node.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false))
  return node
}

function set(node, name, value) {
  if (value === undefined || value === null || value === false) return
  if (name.startsWith('on')) node.addEventListener(name.slice(2), value)
  else if (name === 'style') for (const [key, one] of Object.entries(value)) node.style.setProperty(key, one)
  else node.setAttribute(name, value === true ? '' : value)
}

// The status line under the controls: progress or an error.
const line = h('p.status', {role: 'status'})
const say = (text, bad = false) => {
  line.textContent = text
  line.classList.toggle('bad', bad)
}

// Fields with a submit button. Not a form, because hosts' sandboxes lack `allow-forms`.
function controls(words, act, ...fields) {
  const enter = (event) => event.key === 'Enter' && event.target.matches('input') && !event.isComposing && act()
  return h('div.row', {role: 'group', 'aria-label': TITLE, onkeydown: enter}, fields,
    h('button', {type: 'button', onclick: act}, words))
}

// Runs an action and shows its progress and errors. Only the latest action counts: `act` gets a function that returns
// whether it is still current.
let turn = 0
async function during(words, act) {
  const mine = (turn += 1)
  const current = () => mine === turn
  say(words)
  try {
    await act(current)
    if (current()) say('')
  } catch (error) {
    if (current()) say(error.message, true)
  }
}

const named = (path) => (path === '.' ? 'the project' : path)
const number = (value) => Number(value ?? 0).toLocaleString('en')
const many = (count, one, more = `${one}s`) => `${number(count)} ${count === 1 ? one : more}`
const bytes = (count) => {
  const step = count < 1e3 ? 0 : count < 1e6 ? 1 : count < 1e9 ? 2 : 3
  return `${(count / 1e3 ** step).toLocaleString('en', {maximumFractionDigits: step ? 1 : 0})} ${['B', 'kB', 'MB', 'GB'][step]}`
}
const pill = (text, kind = '') => h(`span.pill${kind && `.${kind}`}`, text)
const bar = (share) => h('span.bar', {'aria-hidden': 'true'}, h('span', {style: {width: `${Math.max(1, Math.min(100, share))}%`}}))
const SEVERITIES = {high: 'bad', medium: 'warn', low: 'info', info: 'info', extreme: 'bad', moderate: 'warn'}
const severity = (word) => pill(word, SEVERITIES[word])
const section = (title, ...children) => h('section', h('h2', title), ...children)
// A table with a header row; cells may be nodes.
const table = (head, rows) => h('div.wide', {tabindex: 0, role: 'region', 'aria-label': head.join(', ')}, h('table',
  h('thead', h('tr', head.map((cell) => h('th', {scope: 'col'}, cell)))),
  h('tbody', rows.map((row) => h('tr', row.map((cell) => h('td', cell)))))))
// Preformatted text. It is focusable, so that the keyboard can scroll it.
const block = (text) => h('pre', {tabindex: 0}, text)
// Fallback for an answer without structured fields: its text.
const plain = (result) => block(resultText(result) || 'The answer is empty.')

