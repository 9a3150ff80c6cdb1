// Hosts MCP Apps (io.modelcontextprotocol/ui, 2026-01-26): a server's page runs in a sandboxed frame with an opaque
// origin and no network, and exchanges JSON-RPC with this host. Its output is shown as text; its requests are limited.
import {read} from './api.js'
import {h, put, visible} from './dom.js'

export const APP_MIME = 'text/html;profile=mcp-app'
const REVISION = '2026-01-26'
const FRAME = 'frame'
const LOWEST = 60
const HIGHEST = 900
const MOST_HTML = 4 * 1024 * 1024
const MOST_BYTES = 1024 * 1024
const MOST_A_SECOND = 100
const MOST_AT_ONCE = 8
const MOST_STARTS = 5
const MOST_LINES = 200
const TEARDOWN = 500
const DENIED = -32000

// Apps whose frame is on the page. A removed frame is dropped here, and registered again when it reloads.
const running = new Set()

function each(act) {
  for (const app of running) {
    if (app.frame.isConnected) act(app)
    else running.delete(app)
  }
}

addEventListener('message', ({source, data}) => each((app) => source === app.frame.contentWindow && app.hear(data)))
const dress = () => each((app) => app.dress())
new MutationObserver(dress).observe(document.documentElement, {attributes: true, attributeFilter: ['data-theme']})
matchMedia('(prefers-color-scheme: light)').addEventListener('change', dress)

// Whether a resource's contents or list entry is an app's page.
export function isApp(contents) {
  return /^text\/html;\s*profile=("?)mcp-app\1$/i.test(contents?.mimeType ?? '')
}

// The URI of the app that shows a tool's results, or null.
export function appOf(tool) {
  const uri = tool?._meta?.ui?.resourceUri ?? tool?._meta?.['ui/resourceUri']
  return typeof uri === 'string' && uri.startsWith('ui://') ? uri : null
}

// A node that becomes the tool's app, with these arguments and this result.
export function showToolApp(tool, args, result, ctx) {
  const uri = appOf(tool)
  if (!uri) return h('p.quiet', 'This tool has no app.')
  const place = h('div.app-place', h('p.quiet', {role: 'status'}, `Reading ${uri} …`))
  ctx.mcp.request('resources/read', {uri}).then((answer) => {
    const contents = [answer?.contents ?? []].flat().find(isApp)
    if (!contents) throw new Error(`The server returned no contents of type ${APP_MIME}.`)
    put(place, show(contents, {tool, args: args ?? {}, result}, ctx))
  }).catch((error) => put(place, unshown(error.message)))
  return place
}

// A node with the app in these resource contents, without a result.
export function showApp(contents, ctx) {
  return show(contents, {}, ctx)
}

function show(contents, call, ctx) {
  const html = typeof contents.text === 'string' ? contents.text : decode(contents.blob)
  if (html === null) return unshown('The page is not valid text.')
  if (html.length > MOST_HTML) return unshown(`The page is larger than ${MOST_HTML >> 20} MB.`)
  const node = h('section.app.panel.col', {'aria-label': 'App'})
  const start = () => {
    const app = new App({contents, html, call, ctx})
    put(node, app.nodes)
    app.onend = (why) => put(node,
      h('div.row', h('h3.grow', app.title), h('button', {type: 'button', onclick: start}, 'Restart')),
      h('p.quiet', {role: 'status'}, why))
  }
  start()
  return node
}

function unshown(why) {
  return h('div.error-box', h('strong', "The app can't be shown"), h('p', why))
}

function decode(blob) {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(blob), (one) => one.charCodeAt(0)))
  } catch {
    return null
  }
}

// Lists requested permissions that this host never grants.
function notGiven(ui) {
  const names = (value) => (value && typeof value === 'object' ? Object.values(value).flat().map(String) : [])
  const domains = names(ui?.csp)
  const permissions = Object.keys(ui?.permissions ?? {})
  return [
    domains.length > 0 && h('p.warn',
      `The app requests network access to ${domains.join(', ')}. Apps have no network here, so parts of it may not work.`),
    permissions.length > 0 && h('p.warn', `The app requests ${permissions.join(', ')}. No permissions are granted here.`),
  ]
}

// The page's colors under the names that apps use.
const STYLES = {
  '--color-background-primary': '--bg-2', '--color-background-secondary': '--bg-3',
  '--color-text-primary': '--text', '--color-text-secondary': '--text-2', '--color-text-danger': '--bad',
  '--color-text-success': '--ok', '--color-text-warning': '--warn', '--color-text-info': '--info',
  '--color-border-primary': '--line', '--color-ring-primary': '--accent',
  '--font-sans': '--sans', '--font-mono': '--mono',
}

class App {
  onend = () => {}
  #call
  #ctx
  #html
  #greeted = false
  #ready = false
  #starts = 0
  #window = [0, 0]
  #busy = 0
  #asking = false
  #lines = h('ol.app-log', {role: 'log', 'aria-label': 'App messages'})
  #count = h('span', '0')
  #teardown = () => {}

  constructor({contents, html, call, ctx}) {
    Object.assign(this, {title: `${call.tool?.title || call.tool?.name || contents.uri} (app)`})
    this.#call = call
    this.#ctx = ctx
    this.#html = html
    const border = contents._meta?.ui?.prefersBorder === false ? '' : 'border'
    this.frame = h('iframe', {
      class: border, sandbox: 'allow-scripts', src: FRAME, referrerpolicy: 'no-referrer', title: visible(this.title),
      // A reattached frame starts over.
      onload: () => running.add(this),
    })
    this.nodes = [
      h('div.row.wrap', h('h3', this.title), h('span.mono.quiet.grow.cut', contents.uri), h('span.pill', 'sandboxed'),
        h('button.small', {type: 'button', onclick: () => this.end()}, 'Close')),
      notGiven(contents._meta?.ui), this.frame,
      h('details', h('summary', 'App messages (', this.#count, ')'), this.#lines),
    ]
    running.add(this)
  }

  dress() {
    this.#notify('ui/notifications/host-context-changed', {theme: this.#theme()})
  }

  // Gives the app a moment to save its state, then removes its frame.
  async end(why = 'The app was closed.') {
    if (this.#ready) {
      const answered = new Promise((done) => { this.#teardown = done })
      this.#send({id: 'teardown', method: 'ui/resource-teardown', params: {reason: why}})
      await Promise.race([answered, new Promise((done) => setTimeout(done, TEARDOWN))])
    }
    running.delete(this)
    this.frame.remove()
    this.onend(why)
  }

  // An opaque origin has no name, so '*' is the only possible target; only this frame's window receives it.
  #send(message) {
    this.frame.contentWindow?.postMessage({jsonrpc: '2.0', ...message}, '*')
  }

  // Before an app reports that it is ready, it gets responses only.
  #notify(method, params) {
    if (this.#ready) this.#send({method, params: JSON.parse(JSON.stringify(params))})
  }

  #log(what, value) {
    this.#count.textContent = Number(this.#count.textContent) + 1
    const text = value === undefined ? '' : (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 2000)
    this.#lines.append(h('li', h('span.pill', what), ' ', h('span.mono', text)))
    if (this.#lines.childElementCount > MOST_LINES) this.#lines.firstChild.remove()
  }

  hear(data) {
    const now = Math.floor(Date.now() / 1000)
    this.#window = this.#window[0] === now ? [now, this.#window[1] + 1] : [now, 1]
    if (this.#window[1] > MOST_A_SECOND) return this.#stop(`It sent more than ${MOST_A_SECOND} messages per second.`)
    let message
    try {
      const text = JSON.stringify(data)
      if (text.length > MOST_BYTES) return this.#stop('It sent a message larger than 1 MB.')
      message = read(text)
    } catch {
      return this.#log('refused', 'Message is not JSON.')
    }
    if (message?.jsonrpc !== '2.0') return this.#log('refused', message)
    if (typeof message.method !== 'string') return message.id === 'teardown' && this.#teardown()
    if ('id' in message) this.#request(message)
    else this.#notified(message.method, message.params ?? {})
  }

  #stop(why) {
    this.#ready = false
    this.end(`The app was stopped. ${why}`)
  }

  async #request({id, method, params}) {
    const refuse = (error) => this.#send({id, error: {code: error.code ?? DENIED, message: error.message}})
    if (this.#busy >= MOST_AT_ONCE) return refuse(new Error(`More than ${MOST_AT_ONCE} concurrent requests.`))
    this.#busy += 1
    try {
      const result = await this.#answer(method, params ?? {})
      this.#send({id, result: JSON.parse(JSON.stringify(result ?? {}))})
    } catch (error) {
      this.#log('refused', `${method}: ${error.message}`)
      refuse(error)
    }
    this.#busy -= 1
  }

  #answer(method, params) {
    if (method === 'ping') return {}
    if (method === 'ui/initialize') return this.#greet(params)
    if (!this.#greeted) throw coded(-32600, 'Send ui/initialize first.')
    switch (method) {
      case 'tools/call': return this.#callTool(params)
      case 'resources/read':
        this.#log(method, String(params.uri))
        return this.#ctx.mcp.request(method, {uri: String(params.uri)})
      case 'ui/open-link': return this.#openLink(params)
      case 'ui/message':
      case 'ui/update-model-context':
        this.#log(method, params)
        return {}
      case 'ui/request-display-mode': return {mode: 'inline'}
      default: throw coded(-32601, `Unknown method: ${method}.`)
    }
  }

  #theme() {
    return this.#ctx.theme?.() ?? 'light'
  }

  #greet(params) {
    this.#greeted = true
    this.#log('ui/initialize', params.appInfo)
    const able = (feature) => matchMedia(feature).matches
    const styles = getComputedStyle(document.documentElement)
    const variables = Object.entries(STYLES).map(([name, ours]) => [name, styles.getPropertyValue(ours).trim()])
    return {
      protocolVersion: REVISION,
      hostInfo: {name: 'docent inspector', version: String(this.#ctx.about?.version || '0')},
      hostCapabilities: {
        openLinks: {}, serverTools: {}, serverResources: {}, logging: {},
        message: {text: {}}, updateModelContext: {text: {}}, sandbox: {permissions: {}, csp: {}},
      },
      hostContext: {
        ...(this.#call.tool ? {toolInfo: {tool: this.#call.tool}} : {}),
        theme: this.#theme(), styles: {variables: Object.fromEntries(variables)},
        displayMode: 'inline', availableDisplayModes: ['inline'],
        containerDimensions: {width: this.frame.clientWidth, maxHeight: HIGHEST},
        locale: navigator.language, timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
        userAgent: 'docent-inspector', platform: 'web',
        deviceCapabilities: {touch: able('(pointer: coarse)'), hover: able('(hover: hover)')},
      },
    }
  }

  #notified(method, params) {
    if (method === 'ui/notifications/sandbox-proxy-ready') return this.#load()
    if (method === 'ui/notifications/size-changed') {
      const height = Math.min(HIGHEST, Math.max(LOWEST, Math.ceil(Number(params.height))))
      if (height) this.frame.style.setProperty('height', `${height}px`)
    } else if (method === 'ui/notifications/initialized') {
      if (this.#ready || !this.#greeted) return
      this.#ready = true
      if (!this.#call.tool) return
      this.#notify('ui/notifications/tool-input', {arguments: this.#call.args})
      if (this.#call.result) this.#notify('ui/notifications/tool-result', this.#call.result)
      else this.#notify('ui/notifications/tool-cancelled', {reason: 'The call has no result.'})
    } else this.#log(method, params)
  }

  // Resends the page's HTML when it reloads itself, a few times.
  #load() {
    this.#greeted = this.#ready = false
    if ((this.#starts += 1) > MOST_STARTS) return this.#stop(`It reloaded itself more than ${MOST_STARTS} times.`)
    this.#send({method: 'ui/notifications/sandbox-resource-ready', params: {html: this.#html}})
  }

  // One dialog at a time, so that an app cannot flood the page with dialogs.
  async #agreed(title, body, label) {
    if (this.#asking) throw coded(DENIED, 'Another dialog is already open.')
    this.#asking = true
    const actions = [{label: 'Refuse', value: false}, {label, value: true, primary: true}]
    const agreed = await this.#ctx.dialog({title, body, actions})
    this.#asking = false
    if (agreed !== true) throw coded(DENIED, 'The user refused.')
  }

  async #callTool({name, arguments: args = {}}) {
    const tools = await this.#ctx.mcp.list('tools/list', 'tools')
    const tool = tools.find((one) => one.name === name)
    if (!tool) throw coded(-32602, `The server has no tool ${name}.`)
    const visibility = tool._meta?.ui?.visibility
    if (Array.isArray(visibility) && !visibility.includes('app')) throw coded(DENIED, `${name} is not available to apps.`)
    if (tool.annotations?.readOnlyHint !== true) {
      await this.#agreed('The app wants to call a tool', h('div.col', h('p', this.title), h('p.mono', name),
        h('pre.code', JSON.stringify(args, null, 2))), 'Call it')
    }
    this.#log('tools/call', `${name} ${JSON.stringify(args)}`)
    return this.#ctx.mcp.request('tools/call', {name, arguments: args})
  }

  async #openLink({url}) {
    const address = URL.canParse(url) ? new URL(url) : null
    if (!/^https?:$/.test(address?.protocol ?? '')) throw coded(-32602, 'Only http and https URLs can be opened.')
    const body = h('div.col', h('p', this.title), h('pre.code', address.href))
    await this.#agreed('The app wants to open a URL', body, 'Open it')
    this.#log('ui/open-link', address.href)
    window.open(address.href, '_blank', 'noopener,noreferrer')
    return {}
  }
}

function coded(code, message) {
  return Object.assign(new Error(message), {code})
}
