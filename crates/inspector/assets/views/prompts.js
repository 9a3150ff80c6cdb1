// Prompts: the server's prompts, their arguments, and the resulting messages.
import {completedField} from '../complete.js'
import {h, put} from '../dom.js'

const EMPTY = 'This server has no prompts. Choose another target in the bar above, or see its tools.'

export default {id: 'prompts', title: 'Prompts', icon: '❝', mount}

function mount(root, ctx) {
  const {mcp} = ctx
  const detail = h('div.detail')
  const empty = h('p', 'Loading…')
  const list = ctx.list({
    items: [], label: 'Prompts', empty,
    key: (item) => item.name,
    text: (item) => [item.name, item.title, item.description].join(' '),
    row: (item) => [h('div.name.cut', item.title || item.name), h('div.address', item.description || item.name)],
    open: (item) => ctx.go(ctx.link('prompts', item.name)),
  })
  const problem = h('div')
  const split = h('div.split', h('div.side', problem, list.node), detail)
  root.append(split)
  let items = null
  let name = ''
  let end = null

  async function load() {
    try {
      items = (await mcp.list('prompts/list', 'prompts')).filter((one) => one.name)
      put(problem)
      put(empty, EMPTY)
      list.update(items)
      show()
    } catch (error) {
      put(problem, errorBox('Cannot load the list', error))
      put(empty)
    }
  }

  function show() {
    split.classList.toggle('open', Boolean(name))
    list.select(name)
    end?.()
    end = null
    if (!name) return put(detail, h('div.empty', 'Choose a prompt to fill in its arguments and see its messages.'))
    if (!items) return put(detail)
    const item = items.find((one) => one.name === name)
    const part = item && showPrompt(ctx, item)
    end = part?.end
    put(detail, h('a.button.small.ghost.back', {href: '#/prompts'}, '← All prompts'),
      part?.node ?? h('div.empty', `This server has no prompt “${name}”.`))
  }

  const offs = [
    mcp.on('notifications/prompts/list_changed', load),
    mcp.on('state', () => mcp.state === 'ready' && load()),
  ]
  load()
  return {
    route({path}) {
      name = path.join('/')
      show()
    },
    unmount() {
      for (const off of offs) off()
      end?.()
    },
  }
}

function errorBox(title, error) {
  const code = error.code === undefined || error.code === null ? '' : ` (${error.code})`
  return h('div.error-box', {role: 'alert'}, h('h3', title), h('p', error.message, code))
}

// One prompt. Without arguments its messages are shown at once.
function showPrompt(ctx, item) {
  const {mcp} = ctx
  const wanted = (Array.isArray(item.arguments) ? item.arguments : []).filter((one) => typeof one?.name === 'string')
  const kept = ctx.store.get(`prompt:${item.name}`, {})
  const messages = h('div.col', {role: 'region', 'aria-label': 'Messages', 'aria-live': 'polite'})
  let getting = null
  const values = () => Object.fromEntries(
    wanted.map((one, at) => [one.name, fields[at].value()]).filter(([, value]) => value !== ''))
  const fields = wanted.map((one) => completedField(ctx, {
    name: one.name, description: one.description, required: one.required === true, value: kept[one.name],
    ref: {type: 'ref/prompt', name: item.name}, others: () => ({...values(), [one.name]: undefined}),
    onInput: () => ctx.store.set(`prompt:${item.name}`, values()),
  }))

  async function get() {
    const missing = wanted.findIndex((one, at) => one.required === true && !fields[at].value())
    for (const [at, field] of fields.entries()) field.input.setAttribute('aria-invalid', String(at === missing))
    if (missing >= 0) {
      fields[missing].input.focus()
      return ctx.toast(`${wanted[missing].name} is required.`, 'warn')
    }
    getting?.abort()
    getting = new AbortController()
    const {signal} = getting
    try {
      const result = await mcp.request('prompts/get', {name: item.name, arguments: values()}, {signal})
      const shown = await shownMessages(result, ctx)
      if (!signal.aborted) put(messages, shown)
    } catch (error) {
      if (!signal.aborted) put(messages, errorBox('Cannot get the prompt', error))
    }
  }

  const off = ctx.keys({'mod+Enter': get})
  if (!wanted.length) get()
  const node = h('article.col', h('h2', item.title || item.name), item.title && h('div.address-line', item.name),
    item.description && h('p', item.description), h('div.arguments', fields.map((field) => field.node)),
    h('div.toolbar', h('button.primary', {type: 'button', onclick: get}, 'Get messages'),
      h('span.quiet', h('kbd.kbd', 'Ctrl'), ' ', h('kbd.kbd', 'Enter'))), messages)
  const end = () => {
    off()
    getting?.abort()
  }
  return {node, end}
}

async function shownMessages({description, messages}, ctx) {
  const all = Array.isArray(messages) ? messages : []
  if (!all.length) return h('div.empty', 'The server returned no messages.')
  const {showResult} = await import('../result.js')
  const text = all.map((one) => `${one?.role}: ${one?.content?.text ?? JSON.stringify(one?.content)}`).join('\n\n')
  return [
    h('div.row', h('h3', `${all.length} ${all.length === 1 ? 'message' : 'messages'}`), h('span.grow'),
      h('button.small', {type: 'button', onclick: () => ctx.copy(text)}, 'Copy all')),
    description && h('p.quiet', description),
    all.map((one) => h('section.message', {class: one?.role === 'assistant' ? 'assistant' : 'user'},
      h('div.row', h('span.pill', one?.role ?? 'no role')), showResult({content: [one?.content].flat()}, null, ctx))),
  ]
}
