// Speaks with the client that shows this page: JSON-RPC 2.0 by postMessage, as MCP Apps (2026-01-26) has it.

const REVISION = '2026-01-26'
const waiting = new Map()
let last = 0
// What the host can do, as it says.
let able = {}

function send(message) {
  // A host's origin is not known to a page in a sandbox; only its own parent hears this.
  parent.postMessage({jsonrpc: '2.0', ...message}, '*')
}

// Asks the host. A refusal is thrown in its words.
function ask(method, params) {
  const id = (last += 1)
  return new Promise((resolve, reject) => {
    waiting.set(id, {resolve, reject})
    send({id, method, params})
  })
}

// Calls a tool of the server through the host. What the tool could not do is thrown in its words.
async function call(name, args) {
  const result = await ask('tools/call', {name, arguments: args})
  if (result.isError) throw new Error(told(result) || `${name} failed and does not say why.`)
  return result
}

function openLink(url) {
  return ask('ui/open-link', {url}).catch(() => {})
}

// The text that a result tells to a model.
function told(result) {
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

// Tells the host how much room the page needs, whenever that changes.
function tellSize() {
  let before = ''
  new ResizeObserver(() => {
    const {width, height} = document.documentElement.getBoundingClientRect()
    const size = {width: Math.ceil(width), height: Math.ceil(height)}
    if (before === (before = JSON.stringify(size))) return
    send({method: 'ui/notifications/size-changed', params: size})
  }).observe(document.documentElement)
}

// Shakes hands, then hands over what the host says of the call that this page belongs to:
// `input(arguments)`, `result(result)`; `ready(context)` comes before both, and where there is no call at all.
async function begin({ready, input, result}) {
  const heard = {
    'ui/notifications/tool-input': (params) => input(params.arguments ?? {}),
    'ui/notifications/tool-result': (params) => during('', () => result(params)),
    'ui/notifications/tool-cancelled': (params) => say(params.reason || 'The call was cancelled.'),
    'ui/notifications/host-context-changed': dress,
  }
  addEventListener('message', ({source, data}) => {
    if (source !== parent || data?.jsonrpc !== '2.0') return
    if (typeof data.method !== 'string') {
      const asked = waiting.get(data.id)
      waiting.delete(data.id)
      if (data.error) asked?.reject(new Error(data.error.message || 'The host refused.'))
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

// The line under the controls: what the page waits for, or what went wrong.
const line = h('p.status', {role: 'status'})
const say = (text, bad = false) => {
  line.textContent = text
  line.classList.toggle('bad', bad)
}

// Fields and the button that acts on them. A form would be refused: sandboxes of hosts have no `allow-forms`.
function controls(words, act, ...fields) {
  const enter = (event) => event.key === 'Enter' && event.target.matches('input') && !event.isComposing && act()
  return h('div.row', {role: 'group', 'aria-label': TITLE, onkeydown: enter}, fields,
    h('button', {type: 'button', onclick: act}, words))
}

// Runs one thing after a click. While it runs the page says so; what goes wrong is said as well. Of several, the last
// one counts: `act` gets a function that tells whether it still is.
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
// A table whose first row of cells is its head; cells may be nodes.
const table = (head, rows) => h('div.wide', {tabindex: 0, role: 'region', 'aria-label': head.join(', ')}, h('table',
  h('thead', h('tr', head.map((cell) => h('th', {scope: 'col'}, cell)))),
  h('tbody', rows.map((row) => h('tr', row.map((cell) => h('td', cell)))))))
// A text as it is written. It scrolls where it is long, so that the keyboard must reach it.
const block = (text) => h('pre', {tabindex: 0}, text)
// What an answer says where its fields are not there: the text alone.
const plain = (result) => block(told(result) || 'The answer is empty.')

