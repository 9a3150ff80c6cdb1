// Health: servers, blocked definitions, rates and latency, limits hit, configuration, doctor.
import {histogram, quantile, ranges} from '../chart.js'
import {h, put} from '../dom.js'
import {took} from '../feed.js'

const EVERY = 2000
const LIMITS = /refus|reject|limit|rate|crowd|drop|panic|fail|timeout/i

const table = (heads, rows) => h('div.scroll', {tabindex: 0, role: 'group', 'aria-label': 'Table'}, h('table.table',
  h('thead', h('tr', heads.map((name) => h('th', {scope: 'col'}, name)))),
  h('tbody', rows.map((row) => h('tr', row.map((cell) => h('td', cell)))))))

const pairs = (list) => h('dl.said', list.filter(([, value]) => value !== null && value !== undefined && value !== '')
  .map(([term, value]) => [h('dt', term), h('dd', value)]))

// Redraws a part if its data changed; keeps open details and focus.
function redraw(node, sign, build) {
  if (node.sign === sign) return
  node.sign = sign
  const open = new Set([...node.querySelectorAll('details[open]')].map((one) => one.dataset.key))
  const focused = node.contains(document.activeElement) && document.activeElement.dataset.key
  put(node, build())
  for (const one of node.querySelectorAll('[data-key]')) {
    if (open.has(one.dataset.key)) one.open = true
    if (focused === one.dataset.key) one.focus()
  }
}

function mount(root, ctx) {
  if (!ctx.about.docent) {
    put(root, h('div.empty', h('p', 'This target is not docent itself, so there is no health data.'),
      h('p', 'Start ', h('code', 'docent inspect'), ' without a server, or open /inspector of a running ',
        h('code', 'docent serve --transport http'), '.')))
    return {}
  }
  const view = new Health(root, ctx)
  return {unmount: () => view.unmount()}
}

class Health {
  samples = []

  constructor(root, ctx) {
    this.ctx = ctx
    const part = (title, ...extra) => {
      const node = h('div.col')
      return {node, whole: h('section.col', {'aria-label': title}, h('div.row', h('h2.grow', title), extra), node)}
    }
    this.uptime = h('span.quiet')
    this.search = h('input.input', {type: 'search', 'aria-label': 'Search the configuration', placeholder: 'Search', oninput: () => this.drawConfig()})
    this.parts = {
      servers: part('Servers', this.uptime), tools: part('Calls'), limits: part('Limits hit'),
      config: part('Configuration', h('div', this.search)),
      doctor: part('Doctor', h('button.small', {onclick: () => this.examine()}, 'Check again')),
    }
    this.problem = h('div.error-box', {role: 'alert', hidden: true})
    put(root, h('div.health', this.problem, Object.values(this.parts).map(({whole}) => whole)))
    ctx.keys({'/': () => this.search.focus()})
    this.seen = () => document.hidden || this.poll()
    document.addEventListener('visibilitychange', this.seen)
    this.timer = setInterval(this.seen, EVERY)
    this.poll()
    this.load('config', 'api/config', (config) => {
      this.config = config
      this.drawConfig()
    })
    this.examine()
  }

  async load(name, path, shown) {
    try {
      shown(await this.ctx.api.get(path))
    } catch (error) {
      put(this.parts[name].node, h('p.bad', error.message))
    }
  }

  async poll() {
    if (this.asking) return
    this.asking = true
    try {
      this.draw(await this.ctx.api.get('api/health'))
      this.problem.hidden = true
    } catch (error) {
      put(this.problem, error.message)
      this.problem.hidden = false
    }
    this.asking = false
  }

  draw(health) {
    const {servers, tools, limits} = this.parts
    put(this.uptime, `up ${duration(health.uptime_s)}`)
    const steady = health.servers.map((one) => ({...one, health: {...one.health, answered_ms_ago: null}}))
    redraw(servers.node, JSON.stringify(steady), () => (health.servers.length ? h('div.cards', health.servers.map((one) => this.card(one)))
      : h('p.quiet', 'No servers are configured. Add one with ', h('code', 'docent servers add'), '.')))
    this.sample(health.tools)
    const rows = health.tools.filter(({calls}) => calls).sort((a, b) => b.calls - a.calls).map((one) => this.tool(one))
    redraw(tools.node, JSON.stringify([health.tools, rows.map((row) => row[3])]), () => (rows.length
      ? table(['Tool', 'Calls', 'Errors', 'Calls/min', 'Mean', 'p50', 'p95', 'Latency'], rows)
      : h('p.quiet', 'No tool calls yet.')))
    const counters = Object.entries(health.counters ?? {})
    const hit = counters.filter(([name, count]) => count && LIMITS.test(name))
    redraw(limits.node, JSON.stringify(counters), () => [hit.length ? table(['Counter', 'Count'], hit) : h('p.quiet', 'None.'),
      h('details', {'data-key': 'counters'}, h('summary', {'data-key': 'counters-s'}, 'All counters'), table(['Counter', 'Value'], counters))])
  }

  // Samples call counts for the rate over the last minute.
  sample(tools) {
    this.samples.push({at: performance.now(), calls: new Map(tools.map(({name, calls}) => [name, calls]))})
    if (this.samples.length > 60_000 / EVERY) this.samples.shift()
  }

  tool({name, calls, errors, seconds_sum: sum, buckets}) {
    const [first, last] = [this.samples[0], this.samples.at(-1)]
    const rate = last.at > first.at ? ((calls - (first.calls.get(name) ?? 0)) / (last.at - first.at)) * 60_000 : 0
    const list = ranges(buckets, calls)
    const within = (share) => (quantile(list, share) === null ? '—' : took(quantile(list, share) * 1e6))
    return [h('span.mono', name), calls, errors ? h('span.bad', errors) : 0, rate.toFixed(rate < 10 ? 1 : 0), took((sum / calls) * 1e6),
      within(0.5), within(0.95), histogram(name, list)]
  }

  card(one) {
    const {health = {}, held = [], left_out: leftOut = {}, flagged = [], stderr = []} = one
    const kind = {ready: 'ok', waiting: 'warn'}[one.state] ?? ''
    return h('article.panel.col', h('div.row', h('h3.grow', one.name), h('span.pill', {class: kind}, one.state)),
      h('code.quiet', one.way),
      pairs([['Server', [one.server?.name, one.server?.version].filter(Boolean).join(' ')], ['Revision', one.protocol], ['Tools', one.tools],
        ['Responses', health.answers], ['Starts', `${health.starts} (${Math.max(0, health.starts - 1)} restarts)`], ['Lost', health.losses],
        ['Failures', health.failures], ['Timeouts', health.timeouts],
        ['Last failure', health.last_failure && h('span.bad', health.last_failure)],
        ['Invalid output', health.noise > 0 && [`${health.noise} lines, last: `, h('code', health.last_noise)]]].filter(([, value]) => value !== false)),
      held.map((change) => h('div.row', h('span.grow', h('span.pill.warn', 'blocked'), ' ', change.tool),
        h('button.small', {'data-key': `held ${one.name} ${change.tool}`, onclick: () => this.review(one.name, change)}, 'Review…'))),
      Object.entries(leftOut).map(([tool, why]) => h('p', h('span.pill.warn', 'excluded'), ' ', tool, ': ', why)),
      flagged.map(([tool, why]) => h('p', h('span.pill.warn', 'flagged'), ' ', tool, ': ', [why].flat().join(', '))),
      h('details', {'data-key': `stderr ${one.name}`}, h('summary', {'data-key': `stderr-s ${one.name}`}, `stderr (${stderr.length} lines)`),
        h('pre.code', {tabindex: 0}, stderr.join('\n') || 'No output.')))
  }

  // Shows the change before the user approves or rejects it.
  async review(server, {tool, before, after}) {
    const {ctx} = this
    const {diff} = await import('../diff.js')
    const text = (value) => (value ? JSON.stringify(value, null, 2) : '')
    const line = (kind, sign, side) => side && h('span', {class: kind}, `${sign} ${side[1]}`)
    const rows = diff(text(before), text(after)).rows.map(({kind, left, right}) => (kind === 'same' ? line('', ' ', left)
      : [line('gone', '-', left), line('new', '+', right)]))
    const why = before ? `The server ${server} changed the definition of ${tool} after it was approved. `
      : `No definition of ${tool} from the server ${server} is approved. `
    const body = h('div.col', h('p', why,
      'If you approve, agents see and use the new one. If you reject it, the tool stays blocked.'), h('pre.code.diff', {tabindex: 0}, rows))
    const chosen = await ctx.dialog({title: `Changed: ${tool}`, body, actions: [{label: 'Decide later', value: ''},
      {label: 'Reject', value: 'refuse', danger: true}, {label: 'Approve', value: 'approve', primary: true}]})
    if (!chosen) return
    try {
      // Approves the definition that was shown, whatever the server reports now.
      const tools = chosen === 'approve' ? {[tool]: after} : [tool]
      await ctx.api.post(`api/${chosen}`, {server, tools})
      ctx.toast(`${tool} was ${chosen === 'approve' ? 'approved' : 'rejected'}.`, 'ok')
    } catch (error) {
      ctx.toast(error.message, 'bad')
    }
    this.poll()
  }

  drawConfig() {
    if (!this.config) return
    const {values, warnings = [], files = []} = this.config
    const wanted = this.search.value.toLowerCase()
    const rows = values.map(({key, value, origin}) => [key, typeof value === 'string' ? value : JSON.stringify(value), origin])
      .filter((row) => row.join(' ').toLowerCase().includes(wanted))
    put(this.parts.config.node, warnings.map((text) => h('p.warn', text)),
      h('p.quiet', files.length ? `Read from ${files.join(', ')}.` : 'No configuration file was read; values come from defaults, environment and flags.'),
      rows.length ? table(['Key', 'Value', 'Origin'], rows.map(([key, value, origin]) => [h('code', key), h('code', value), origin]))
        : h('p.quiet', 'Nothing matches.'))
  }

  examine() {
    put(this.parts.doctor.node, h('p.quiet', 'Checking…'))
    this.load('doctor', 'api/doctor', ({checks}) => put(this.parts.doctor.node, table(['Check', 'Result', 'Detail'], checks.map((one) => [one.name,
      h('span.pill', {class: {ok: 'ok', fail: 'bad'}[one.status] ?? 'warn'}, one.status), [h('div', one.detail), one.advice && h('div.quiet', one.advice)]]))))
  }

  unmount() {
    clearInterval(this.timer)
    document.removeEventListener('visibilitychange', this.seen)
  }
}

function duration(seconds) {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  return hours ? `${hours} h ${minutes} min` : minutes ? `${minutes} min` : `${Math.floor(seconds)} s`
}

export default {id: 'health', title: 'Health', icon: '♥', mount}
