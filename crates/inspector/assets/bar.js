// The top bar: target, revision, state, server, theme; and the notice below it when the connection is lost.
import {h, put} from './dom.js'
import {editRoots} from './elicit.js'
import {REVISIONS} from './mcp.js'
import {shared} from './store.js'

const THEMES = {system: '◐', dark: '●', light: '○'}
const STATES = {ready: ['Ready', 'ok'], connecting: ['Connecting…', 'warn'], closed: ['Not connected', 'bad']}

/** @param {{help: () => void, choose: (name: string) => void}} acts */
export function makeBar(ctx, acts) {
  const target = h('span.cut')
  const state = h('span.pill', {role: 'status'})
  const server = h('span.cut.quiet.server')
  const revision = h('select', {'aria-label': 'Protocol revision', onchange: () => reopen(revision.value)})
  const menu = popover('targets')
  const about = popover('about-server')
  const aboutButton = opener(about, {class: 'small ghost', 'aria-label': 'About the server'}, 'ⓘ')
  const targetButton = opener(menu, {class: 'small target', title: 'Target'}, h('span.sr', 'Target: '), target, h('span', {'aria-hidden': 'true'}, '▾'))

  function reopen(wanted) {
    ctx.store.set('revision', wanted)
    ctx.mcp.open({revision: wanted})
  }

  menu.addEventListener('beforetoggle', () => put(menu, targets()))
  about.addEventListener('beforetoggle', () => put(about, aboutServer(ctx)))

  function targets() {
    const choice = ({name, kind, way}) => h('button.choice.ghost', {
      type: 'button', 'aria-current': name === ctx.target.name && 'true',
      onclick: () => {
        menu.hidePopover()
        acts.choose(name)
      },
    }, h('strong', name), ' ', h('span.pill', kind), h('div.mono.quiet', way))
    return h('div.col', h('h2', 'Targets'), ctx.about.targets.map(choice), h('div.toolbar',
      h('button.small', {type: 'button', onclick: () => ctx.mcp.retry()}, 'Reconnect'),
      h('button.small', {type: 'button', onclick: () => editRoots(ctx)}, 'Roots…')))
  }

  function update() {
    const {mcp} = ctx
    const [text, kind] = STATES[mcp.state]
    put(target, ctx.target?.name ?? ctx.about.target)
    put(state, text)
    state.className = `pill ${kind}`
    state.title = mcp.why
    put(server, mcp.state === 'ready' && [mcp.server.title || mcp.server.name || 'unnamed server', ' ', mcp.server.version])
    aboutButton.disabled = mcp.state !== 'ready'
    const chosen = ctx.store.get('revision', 'auto')
    put(revision, ['auto', ...REVISIONS].map((one) => h('option', {value: one, selected: one === chosen},
      one === 'auto' && mcp.era ? `auto: ${mcp.era}` : chosen === one && mcp.era && mcp.era !== one ? `${one}: negotiated ${mcp.era}` : one)))
    notice.update()
  }

  const notice = makeNotice(ctx)
  put(document.getElementById('bar'),
    h('button.skip', {type: 'button', onclick: () => document.getElementById('view').focus()}, 'Skip to main content'),
    h('span.brand', 'docent'), targetButton, revision, state, server, aboutButton, h('span.grow'), themeSwitch(),
    h('button.small.ghost', {type: 'button', 'aria-label': 'Keyboard shortcuts', title: 'Keyboard shortcuts (?)', onclick: acts.help}, '?'))
  document.body.append(menu, about)
  return {update}
}

function popover(id) {
  return h('div', {id, popover: 'auto'})
}

// A button that opens a popover below itself.
function opener(node, properties, ...children) {
  const button = h('button', {type: 'button', ...properties, popovertarget: node.id}, ...children)
  node.addEventListener('toggle', ({newState}) => {
    if (newState !== 'open') return
    const {left, bottom} = button.getBoundingClientRect()
    node.style.setProperty('left', `${Math.max(8, Math.min(left, innerWidth - node.offsetWidth - 8))}px`)
    node.style.setProperty('top', `${bottom + 4}px`)
  })
  return button
}

function aboutServer({mcp}) {
  const {server, era, capabilities, instructions} = mcp
  return h('div.col',
    h('h2', server.title || server.name || 'Unnamed server'),
    h('p.quiet', [server.name, server.version, `MCP ${era}`].filter(Boolean).join(' · ')),
    h('div.row.wrap', Object.keys(capabilities).map((name) => h('span.pill', name))),
    h('h3', 'Instructions'),
    instructions ? h('pre.code', {tabindex: '0'}, instructions) : h('p.quiet', 'No instructions.'))
}

function themeSwitch() {
  const button = h('button.small.ghost', {type: 'button'})
  const show = () => {
    const theme = shared.get('theme', 'system')
    if (theme === 'system') delete document.documentElement.dataset.theme
    else document.documentElement.dataset.theme = theme
    put(button, THEMES[theme] ?? '◐')
    button.setAttribute('aria-label', `Theme: ${theme}`)
    button.title = `Theme: ${theme}`
  }
  button.addEventListener('click', () => {
    const names = Object.keys(THEMES)
    shared.set('theme', names[(names.indexOf(shared.get('theme', 'system')) + 1) % names.length])
    show()
  })
  show()
  return button
}

// The seconds are hidden from screen readers, which would announce each of them.
function makeNotice({mcp}) {
  const node = document.getElementById('notice')
  const why = h('span', {role: 'status'})
  const seconds = h('span.quiet', {'aria-hidden': 'true'})
  put(node, why, seconds, h('button.small', {type: 'button', onclick: () => mcp.retry()}, 'Retry now'))
  let timer = 0
  let failed = 0
  const count = () => {
    const left = mcp.retryAt === null ? 0 : Math.max(0, Math.ceil((mcp.retryAt - Date.now()) / 1000))
    put(seconds, mcp.retryAt !== null && `Retrying in ${left} s.`)
  }
  return {
    update() {
      clearInterval(timer)
      if (mcp.state === 'ready') failed = 0
      if (mcp.state === 'closed') {
        failed += 1
        const restarted = failed > 3 && mcp.retryAt !== null
        put(why, mcp.why, restarted && ' If docent was restarted, open the URL it printed.')
        timer = setInterval(count, 500)
      } else put(why, mcp.why || 'Connecting…')
      // Stays visible between retries, so that the page does not jump.
      node.hidden = mcp.state === 'ready' || (mcp.state === 'connecting' && !mcp.why && !failed)
      count()
    },
  }
}
