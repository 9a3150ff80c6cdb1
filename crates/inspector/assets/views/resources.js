// Resources and templates: the server's list, contents, and live changes.
import {completedField} from '../complete.js'
import {h, put} from '../dom.js'
import {expand, variablesOf} from '../uritemplate.js'

const APP = 'text/html;profile=mcp-app'
const EMPTY = 'This server has no resources. Choose another target in the bar above, or see its tools.'

export default {id: 'resources', title: 'Resources', icon: '▤', mount}

function mount(root, ctx) {
  const {mcp} = ctx
  const detail = h('div.detail', {'aria-live': 'off'})
  const empty = h('p', 'Loading…')
  const list = ctx.list({
    items: [], label: 'Resources', empty,
    key: (item) => item.uri ?? `template:${item.uriTemplate}`,
    text: (item) => [item.name, item.title, item.uri, item.uriTemplate, item.mimeType, item.description].join(' '),
    row,
    open: (item) => ctx.go(item.uri !== undefined ? ctx.link('resources', item.uri)
      : ctx.link('resources', {template: item.uriTemplate})),
  })
  const problem = h('div')
  const split = h('div.split', h('div.side', problem, list.node), detail)
  root.append(split)
  let items = []
  let route = null
  let shown = null

  async function load() {
    try {
      const [resources, templates] = await Promise.all([
        mcp.list('resources/list', 'resources'), mcp.list('resources/templates/list', 'resourceTemplates')])
      items = [...templates.filter((one) => one.uriTemplate), ...resources.filter((one) => one.uri)]
      put(problem)
      put(empty, EMPTY)
      list.update(items)
      if (route) show()
    } catch (error) {
      put(problem, errorBox('Cannot load the list', error))
      put(empty)
    }
  }

  function show() {
    const uri = route.path.join('/')
    const template = route.query.get('template')
    split.classList.toggle('open', Boolean(uri || template))
    list.select(uri || (template && `template:${template}`) || null)
    const wanted = uri ? `uri ${uri}` : `template ${template}`
    const item = items.find((one) => (uri ? one.uri === uri : one.uriTemplate === template))
    // A list that arrives later adds details without reading the resource again.
    if (shown?.wanted === wanted) {
      if (item) shown.describe?.(item)
      return
    }
    shown?.end?.()
    const back = h('a.button.small.ghost.back', {href: '#/resources'}, '← All resources')
    const part = uri ? showResource(ctx, item ?? {uri}) : template ? showTemplate(ctx, item ?? {uriTemplate: template}) : null
    shown = {wanted, ...part}
    put(detail, part ? [back, part.node] : h('div.empty', 'Choose a resource to read it, or a template to fill it in.'))
  }

  const offs = [
    mcp.on('notifications/resources/list_changed', load),
    mcp.on('state', () => mcp.state === 'ready' && load()),
  ]
  load()
  return {
    route(next) {
      route = next
      show()
    },
    unmount() {
      for (const off of offs) off()
      shown?.end?.()
    },
  }
}

function row(item) {
  return [
    h('div.row', h('span.name.cut', item.title || item.name || item.uri || item.uriTemplate),
      h('span.grow'), item.uriTemplate ? h('span.pill.info', 'template')
        : item.mimeType && h('span.pill', {title: item.mimeType}, item.mimeType.replace(/^application\//, ''))),
    h('div.address', item.uri ?? item.uriTemplate),
  ]
}

function errorBox(title, error) {
  const code = error.code === undefined || error.code === null ? '' : ` (${error.code})`
  return h('div.error-box', {role: 'alert'}, h('h3', title), h('p', error.message, code))
}

const clock = () => new Date().toLocaleTimeString()

function facts(item) {
  const {annotations: {audience, priority, lastModified} = {}} = item
  return h('div.facts', item.mimeType && h('span.pill', item.mimeType),
    Number.isFinite(item.size) && h('span.pill', `${item.size.toLocaleString()} bytes`),
    Array.isArray(audience) && h('span.pill', `for ${audience.join(', ')}`),
    priority !== undefined && h('span.pill', 'priority ', priority),
    lastModified && h('span.pill', 'modified ', lastModified))
}

// One resource: read immediately, and again on every subscribed change.
function showResource(ctx, item) {
  const {mcp} = ctx
  const {uri} = item
  const contents = h('div.col', {'aria-busy': 'true'})
  const mark = h('span.quiet', {role: 'status'})
  const reload = h('button', {type: 'button', onclick: () => read()}, 'Reload')
  const watch = h('button', {type: 'button', onclick: toggle})
  let updates = 0
  let reading = null

  async function read() {
    reading?.abort()
    reading = new AbortController()
    const {signal} = reading
    contents.setAttribute('aria-busy', 'true')
    try {
      const result = await mcp.request('resources/read', {uri}, {signal})
      const parts = Array.isArray(result.contents) ? result.contents : []
      const node = await shownContents(parts, ctx)
      if (!signal.aborted) put(contents, node)
    } catch (error) {
      if (!signal.aborted) put(contents, errorBox('Cannot read the resource', error))
    }
    if (!signal.aborted) contents.setAttribute('aria-busy', 'false')
  }

  async function toggle() {
    try {
      await mcp.watch(uri, !mcp.watched.has(uri))
      if (!mcp.watched.has(uri)) put(mark)
    } catch (error) {
      ctx.toast(`Subscription failed: ${error.message}`, 'bad')
    }
    drawWatch()
  }

  function drawWatch() {
    const on = mcp.watched.has(uri)
    watch.hidden = !mcp.capabilities.resources?.subscribe
    watch.setAttribute('aria-pressed', String(on))
    put(watch, on ? 'Subscribed' : 'Subscribe')
    if (on && !updates) put(mark, 'No changes yet.')
  }

  const offs = [
    mcp.on('notifications/resources/updated', (params) => {
      if (params.uri !== uri) return
      updates += 1
      put(mark, `Changed at ${clock()}${updates > 1 ? `, ${updates} times in total` : ''}.`)
      mark.classList.remove('changed')
      requestAnimationFrame(() => mark.classList.add('changed'))
      read()
    }),
    mcp.on('state', drawWatch),
  ]
  drawWatch()
  read()
  const about = h('div.col')
  describe(about, uri)(item)
  const copy = h('button', {type: 'button', onclick: () => ctx.copy(uri)}, 'Copy URI')
  const node = h('article.col', about, h('div.toolbar', reload, watch, copy, mark), contents)
  const end = () => {
    for (const off of offs) off()
    reading?.abort()
  }
  return {node, end, describe: describe(about, uri)}
}

// Shows the list's details of a resource or a template.
function describe(node, address) {
  return (item) => put(node, h('h2', item.title || item.name || address), (item.title || item.name) && h('div.address-line', address),
    item.description && h('p', item.description), facts(item))
}

async function shownContents(parts, ctx) {
  if (!parts.length) return h('div.empty', 'The server returned no contents.')
  const {showContents} = await import('../result.js')
  const all = showContents(parts, ctx)
  const apps = parts.filter((part) => String(part?.mimeType).replace(/\s/g, '') === APP)
  if (!apps.length) return all
  const place = h('div')
  const run = async () => {
    try {
      const {showApp} = await import('../apps.js')
      put(place, showApp(apps[0], ctx))
    } catch (error) {
      put(place, errorBox('Cannot show the app', error))
    }
  }
  return h('div.col', h('p', h('button.primary', {type: 'button', onclick: run}, 'Show as app')), place, all)
}

// One template: a field for each variable, and the resulting URI.
function showTemplate(ctx, item) {
  const template = item.uriTemplate
  const kept = ctx.store.get(`template:${template}`, {})
  const address = h('output.address-line')
  const names = variablesOf(template)
  const values = () => Object.fromEntries(fields.map((field, at) => [names[at], field.value()]))
  const open = () => {
    ctx.store.set(`template:${template}`, values())
    ctx.go(ctx.link('resources', expand(template, values())))
  }
  const update = () => put(address, expand(template, values()))
  const fields = names.map((name) => completedField(ctx, {
    name, value: kept[name], ref: {type: 'ref/resource', uri: template}, onInput: update,
    others: () => ({...values(), [name]: undefined}),
  }))
  update()
  const off = ctx.keys({'mod+Enter': open})
  const about = h('div.col')
  describe(about, template)(item)
  const node = h('article.col', about,
    h('div.arguments', fields.map((field) => field.node)),
    h('div', h('span.quiet', 'URI: '), address),
    h('div.toolbar', h('button.primary', {type: 'button', onclick: open}, 'Read'),
      h('span.quiet', h('kbd.kbd', 'Ctrl'), ' ', h('kbd.kbd', 'Enter'))))
  return {node, end: off, describe: describe(about, template)}
}
