// The page itself: the current view, the context that views get, and the connection to the target.
import {api} from './api.js'
import {makeBar} from './bar.js'
import {h, put} from './dom.js'
import {makeAsk, mayStart} from './elicit.js'
import {makeList} from './list.js'
import {Client} from './mcp.js'
import {copy, dialog, keys, namedKeys, toast} from './shell.js'
import {makeStore, shared} from './store.js'

// The letter is what follows `g`.
const VIEWS = [
  {id: 'tools', title: 'Tools', icon: '⚒', letter: 't'},
  {id: 'resources', title: 'Resources', icon: '▤', letter: 'r'},
  {id: 'prompts', title: 'Prompts', icon: '❝', letter: 'p'},
  {id: 'search', title: 'Search', icon: '⌕', letter: 's'},
  {id: 'repository', title: 'Repository', icon: '▦', letter: 'o'},
  {id: 'traffic', title: 'Traffic', icon: '⇄', letter: 'f'},
  {id: 'errors', title: 'Errors', icon: '⚠', letter: 'e'},
  {id: 'health', title: 'Health', icon: '♥', letter: 'h'},
]
const KEYS = [
  ['/', 'search in the view'], ['j k', 'next and previous in a list'], ['Enter', 'open'],
  ['mod+Enter', 'run'], ['Escape', 'close, or leave a field'], ['?', 'show keyboard shortcuts'],
]

const main = document.getElementById('view')
const ctx = {
  mcp: new Client(),
  api,
  about: {version: '', target: 'docent', targets: [], docent: false, capture: {on: false, payloads: false}},
  store: makeStore('docent:docent:'),
  go,
  link,
  toast,
  copy,
  dialog,
  keys: (wanted) => ours(keys(wanted)),
  list: (options) => makeList(options, ctx.keys),
  theme: () => document.documentElement.dataset.theme ??
    (matchMedia('(prefers-color-scheme: light)').matches ? 'light' : 'dark'),
}

// The current view: {id, handle, ends}. Its key bindings end with it.
let shown = {id: null, handle: null, ends: []}

function ours(end) {
  shown.ends.push(end)
  return end
}

// Builds '#/…' from parts, which are encoded; a plain object as the last part becomes the query.
function link(...parts) {
  const query = typeof parts.at(-1) === 'object' ? new URLSearchParams(parts.pop()).toString() : ''
  return `#/${parts.map(encodeURIComponent).join('/')}${query && `?${query}`}`
}

function go(hash) {
  if (location.hash === hash) follow()
  else location.hash = hash
}

function routeOf(hash) {
  const [path, query = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s)
  const [view, ...rest] = path.split('/').map((part) => {
    try {
      return decodeURIComponent(part)
    } catch {
      return part
    }
  })
  return {view, path: rest, query: new URLSearchParams(query)}
}

async function follow() {
  const wanted = routeOf(location.hash).view
  const view = VIEWS.find(({id}) => id === wanted)
  if (!view) return location.replace(link(shared.get('view', 'tools')))
  if (view.id !== shown.id) await show(view)
  if (view.id !== shown.id) return
  try {
    // The address may have changed while the view was loaded.
    shown.handle?.route?.(routeOf(location.hash))
  } catch (error) {
    fail(view, error)
  }
}

async function show(view) {
  leave()
  shown = {id: view.id, handle: null, ends: []}
  const mine = shown
  shared.set('view', view.id)
  document.title = `${view.title} · docent inspector`
  for (const one of rail.children) {
    if (one.dataset.view === view.id) one.setAttribute('aria-current', 'page')
    else one.removeAttribute('aria-current')
  }
  try {
    const {default: module} = await import(`./views/${view.id}.js`)
    if (mine !== shown) return
    const root = h('div.view')
    put(main, h('h1.sr', view.title), root)
    shown.handle = module.mount(root, ctx) ?? {}
  } catch (error) {
    if (mine === shown) fail(view, error)
  }
}

function leave() {
  try {
    shown.handle?.unmount?.()
  } catch (error) {
    reportError(error)
  }
  for (const end of shown.ends) end()
}

// Shows a view's failure in its place; the other views keep working.
function fail(view, error) {
  reportError(error)
  put(main, h('div.empty', h('div.error-box', {role: 'alert'},
    h('h2', `${view.title} can't be shown`),
    h('p', error?.message ?? error),
    h('p', h('button', {type: 'button', onclick: () => location.reload()}, 'Reload the page')))))
}

// Reloads the current view on another target.
function again() {
  leave()
  shown = {id: null, handle: null, ends: []}
  follow()
}

const rail = document.getElementById('rail')
put(rail, VIEWS.map(({id, title, icon, letter}) => h('a', {
  href: link(id), 'data-view': id, title: `${title} (g ${letter})`, 'aria-keyshortcuts': `g ${letter}`,
}, h('span.icon', {'aria-hidden': 'true'}, icon), title)))

let waitsForLetter = 0
keys({
  g: () => {
    waitsForLetter = Date.now()
  },
  '?': help,
})
document.addEventListener('keydown', (event) => {
  const waits = Date.now() - waitsForLetter < 1500
  if (event.key !== 'g') waitsForLetter = 0
  const view = waits && !event.ctrlKey && !event.metaKey && VIEWS.find(({letter}) => letter === event.key)
  if (!view || document.querySelector('dialog[open]')) return
  event.preventDefault()
  event.stopImmediatePropagation()
  go(link(view.id))
  main.focus()
}, {capture: true})

function help() {
  const named = (key) => key.replace('mod', /Mac/.test(navigator.platform) ? '⌘' : 'Ctrl')
  const rows = [...KEYS, ...namedKeys(), ...VIEWS.map(({letter, title}) => [`g ${letter}`, `go to ${title}`])]
  dialog({title: 'Keyboard shortcuts', body: h('table.table', h('tbody', rows.map(([key, label]) =>
    h('tr', h('td', key.split(' ').map((one) => [h('kbd.kbd', named(one)), ' '])), h('td', label)))))})
}

const targetOf = (name) => ctx.about.targets.find((one) => one.name === name) ?? {name, asks: false}

// Makes this the target for everything that views read and store.
function aim(target) {
  sessionStorage.setItem('docent:target', target.name)
  ctx.target = target
  ctx.store = makeStore(`docent:${target.name}:`)
  ctx.mcp.ask = makeAsk(ctx)
}

function start(agreed) {
  ctx.mcp.open({target: ctx.target.name, agreed, revision: ctx.store.get('revision', 'auto')})
}

// Switches to another target, if the user agrees to start it.
async function choose(name) {
  const target = targetOf(name)
  const agreed = await mayStart(target, ctx)
  if (target.asks && !agreed) return
  aim(target)
  start(agreed)
  again()
}

async function learn() {
  try {
    ctx.about = await api.get('about')
    ctx.mcp.info.version = String(ctx.about.version)
  } catch (error) {
    toast(error.message, 'bad')
  }
}

const bar = makeBar(ctx, {help, choose})
let wasReady = false
ctx.mcp.on('state', async () => {
  bar.update()
  if (ctx.mcp.state !== 'ready') return
  // docent may have been restarted since.
  if (wasReady) await learn()
  wasReady = true
  bar.update()
})

await learn()
aim(targetOf(sessionStorage.getItem('docent:target') ?? ctx.about.target))
bar.update()
addEventListener('hashchange', follow)
follow()
const agreed = await mayStart(ctx.target, ctx)
if (ctx.target.asks && !agreed) ctx.mcp.close('The command was not started. Choose the target again to start it.')
else start(agreed)
