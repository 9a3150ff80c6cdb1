// Asks the user on a server's behalf: forms, URLs to visit, model responses, roots, and
// whether a command may be started. One question at a time.
import {h, put} from './dom.js'
import {McpError} from './mcp.js'

// Maximum questions waiting at once; further ones are refused.
const WAITING = 20

const refusal = (message) => new McpError({code: -1, message})

// The handler behind `Client.ask`.
export function makeAsk(ctx) {
  const answers = {
    'elicitation/create': elicit,
    'sampling/createMessage': sample,
    'roots/list': () => ({roots: ctx.store.get('roots', [])}),
  }
  let last = Promise.resolve()
  let waiting = 0
  return async (method, params, signal) => {
    if (!Object.hasOwn(answers, method)) throw new McpError({code: -32601, message: `Method not found: ${method}`})
    if (waiting >= WAITING) throw refusal('Too many questions are waiting for the user.')
    waiting += 1
    const answer = last.then(() => {
      if (signal?.aborted) throw refusal('Cancelled.')
      return answers[method](ctx, params, signal)
    })
    last = answer.catch(() => {}).then(() => {
      waiting -= 1
    })
    return answer
  }
}

const serverName = (ctx) => ctx.mcp.server.title || ctx.mcp.server.name || ctx.target.name

async function elicit(ctx, params, signal) {
  const action = params.mode === 'url' ? await visit(ctx, params, signal) : await fillIn(ctx, params, signal)
  return action ?? {action: 'cancel'}
}

async function fillIn(ctx, params, signal) {
  const {makeForm} = await import('./form.js')
  const problems = h('p.bad', {role: 'alert'})
  const form = makeForm(params.requestedSchema ?? {type: 'object'}, undefined, () => put(problems))
  const check = () => {
    const errors = form.errors()
    if (errors.length) form.reveal()
    if (errors.length) put(problems, `Fix the marked fields: ${errors[0].path || 'the form'}: ${errors[0].reason}`)
    return !errors.length
  }
  const chosen = await ctx.dialog({
    title: `${serverName(ctx)} asks`,
    body: h('div.col', h('p', params.message), form.node, problems,
      h('p.quiet', 'Your input is sent to the server. Do not enter passwords or keys.')),
    actions: [{label: 'Cancel', value: null}, {label: 'Decline', value: 'decline'},
      {label: 'Send', value: 'accept', primary: true, check}],
    signal,
  })
  if (chosen === 'accept') return {action: 'accept', content: form.value()}
  return chosen && {action: chosen}
}

async function visit(ctx, params, signal) {
  const address = String(params.url)
  let host = null
  try {
    const {protocol, host: named} = new URL(address)
    if (/^https?:$/.test(protocol)) host = named
  } catch {
    // An invalid URL can only be declined.
  }
  const body = (close) => h('div.col', h('p', params.message),
    h('pre.code', {tabindex: '0'}, address),
    host ? h('p', 'Host: ', h('strong.mono', host)) : h('p.bad', 'Not a web URL; you can only decline it.'),
    host && h('p', h('a.button.primary', {
      href: address, target: '_blank', rel: 'noopener noreferrer', onclick: () => close('accept'),
    }, 'Open in a new tab')))
  const chosen = await ctx.dialog({
    title: `${serverName(ctx)} asks you to open a URL`, body, signal,
    actions: [{label: 'Cancel', value: null}, {label: 'Decline', value: 'decline'}],
  })
  return chosen && {action: chosen}
}

// The user answers in place of the model.
async function sample(ctx, params, signal) {
  const {messages, ...rest} = params
  const text = h('textarea.input', {'aria-label': 'Response', rows: '5'})
  const model = h('input.input', {type: 'text', value: 'a person'})
  const reason = h('select.input', ['endTurn', 'stopSequence', 'maxTokens'].map((one) => h('option', one)))
  const chosen = await ctx.dialog({
    title: `${serverName(ctx)} asks for a model's response`,
    body: h('div.col', shownMessages(messages), h('h3', 'Settings'),
      h('pre.code', {tabindex: '0'}, JSON.stringify(rest, null, 2)), field('Response', text),
      h('div.row.wrap', field('Model', model), field('Stop reason', reason))),
    actions: [{label: 'Refuse', value: null}, {label: 'Send', value: 'send', primary: true}],
    signal,
  })
  if (chosen !== 'send') throw refusal('The user refused the sampling request.')
  return {
    role: 'assistant', content: {type: 'text', text: text.value}, model: model.value || 'a person', stopReason: reason.value,
  }
}

function field(name, input) {
  return h('label.field', h('span', name), input)
}

function shownMessages(messages) {
  return (Array.isArray(messages) ? messages : []).map((message) => h('section.panel',
    h('span.pill.info', message?.role ?? '?'), [message?.content].flat().map((block) =>
      h('pre.code', {tabindex: '0'}, block?.type === 'text' ? block.text : JSON.stringify(block, null, 2)))))
}

// Edits the roots reported to servers, one URI per line.
export async function editRoots(ctx) {
  const text = h('textarea.input', {
    'aria-label': 'Roots', rows: '6', placeholder: 'file:///home/me/project',
    value: ctx.store.get('roots', []).map(({uri}) => uri).join('\n'),
  })
  const problem = h('p.bad', {role: 'alert'})
  const lines = () => text.value.split('\n').map((line) => line.trim()).filter(Boolean)
  const check = () => {
    const wrong = lines().find((line) => !/^file:\/\/\//.test(line))
    put(problem, wrong && `Not a file:/// URI: ${wrong}`)
    return !wrong
  }
  const chosen = await ctx.dialog({
    title: 'Roots',
    body: h('div.col', h('p', 'Folders reported to the server as roots. One URI per line.'), text, problem),
    actions: [{label: 'Cancel', value: null}, {label: 'Save', value: 'keep', primary: true, check}],
  })
  if (chosen !== 'keep') return
  ctx.store.set('roots', lines().map((uri) => ({uri, name: uri.split('/').filter(Boolean).at(-1)})))
  ctx.mcp.notify('notifications/roots/list_changed')
}

// Asks whether a target may be started. The agreement applies to this exact command, in this tab.
export async function mayStart(target, ctx) {
  if (!target.asks) return false
  const key = `docent:agreed:${target.way}`
  if (sessionStorage.getItem(key)) return true
  const chosen = await ctx.dialog({
    title: `Start ${target.name}?`,
    body: h('div.col', h('p', 'This command runs on your machine with your permissions:'),
      h('pre.code', {tabindex: '0'}, target.way)),
    actions: [{label: "Don't start", value: null}, {label: 'Start', value: 'start', primary: true}],
  })
  if (chosen === 'start') sessionStorage.setItem(key, '1')
  return chosen === 'start'
}
