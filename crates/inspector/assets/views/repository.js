// The analyzed project: the report, a size map, and the dependency graph. One path at a time.
import {completedField} from '../complete.js'
import {h, put} from '../dom.js'
import {size} from '../feed.js'
import {graph} from '../graph.js'
import {addressOf, drawReport, inside, number, plural, table} from '../report.js'
import {treemap} from '../treemap.js'
import {call, lacks} from './search.js'

const ANALYZE = 'analyze_repository'
const CODE = 'analyze_code'
const DEPTHS = {quick: 'Quick: names and sizes', standard: 'Standard: lines, packages, documents', deep: 'Deep: links, doc comments, git'}
const TABS = {report: 'Report', map: 'Map', graph: 'Dependencies'}
const CHOICES = {show: Object.keys(TABS), depth: Object.keys(DEPTHS), by: ['folder', 'language'], size: ['bytes', 'lines']}
const FIRST = {path: '.', show: 'report', depth: 'standard', by: 'folder', size: 'bytes'}
const KEPT = 60
// Maximum folders counted one by one for a map of lines.
const MOST_FOLDERS = 40

// Caches results while the page is open, so that going back is instant.
const answers = new Map()

function keep(key, answer) {
  answers.set(key, answer)
  if (answers.size > KEPT) answers.delete(answers.keys().next().value)
  return answer
}

const nameOf = (path) => path.split('/').at(-1)
// Files with common names are labeled with their folder.
const labelOf = (path) => (/(^|\/)(mod|lib|main|index|__init__|tests?)\.\w+$/.test(path) ? path.split('/').slice(-2).join('/') : nameOf(path))
const above = (path) => (path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '.')
const linesOf = ({code = 0, comments = 0, blanks = 0} = {}) => code + comments + blanks
const allLines = (answer) => (answer.languages ?? []).reduce((sum, one) => sum + linesOf(one.lines ?? {}) + linesOf(one.embedded ?? {}), 0)

const packageOf = ({name, version, standard}) => `${name} ${version ?? (standard ? 'standard library' : '')}`
const textsOf = (content) => content.filter((one) => typeof one?.text === 'string').map(({text}) => text)
const early = (texts) => texts.map((text) => h('p.panel.early', text))

class Repository {
  tools = null
  place = {...FIRST}
  running = null
  shown = ''

  constructor(root, ctx) {
    Object.assign(this, {root, ctx})
    this.status = h('div.row.wrap', {role: 'status'})
    this.panel = h('div.col', {id: 'repository-panel', role: 'tabpanel', tabindex: '-1'})
    this.trail = h('nav.row.wrap.trail', {'aria-label': 'Path'})
    this.off = ctx.mcp.on('state', () => this.learn())
    ctx.keys({
      '/': () => this.folder ? this.folder.input.focus() : false,
      'mod+Enter': () => this.analyze(),
      u: {run: () => this.place.path !== '.' && this.go({path: above(this.place.path)}), label: 'parent folder, in Repository'},
    })
    put(root, h('p.empty', 'Connecting…'))
    this.learn()
  }

  // The server's tools are known only after it responds; the page is built then.
  async learn() {
    if (this.ctx.mcp.state !== 'ready') return
    if (!this.tools) put(this.root, h('p.empty', 'Loading tools…'))
    try {
      this.tools = new Set((await this.ctx.mcp.list('tools/list', 'tools')).map(({name}) => name))
    } catch (error) {
      put(this.root, h('div.explore', h('div.error-box', {role: 'alert'}, h('strong', 'Cannot load the list of tools'), h('p', error.message))))
      return
    }
    if (!this.tools.has(ANALYZE)) return put(this.root, lacks(ANALYZE, this.ctx))
    this.build()
    this.shown = ''
    this.draw()
  }

  build() {
    this.folder = completedField(this.ctx, {
      name: 'path', ref: {type: 'ref/resource', uri: 'repository://{depth}/{+path}'}, others: () => ({depth: this.depth.value}),
    })
    const label = this.folder.node.querySelector('label')
    put(label, 'Folder or file')
    this.folder.input.placeholder = '. is the whole project'
    this.depth = h('select', {onchange: () => this.go({depth: this.depth.value, show: 'report'})},
      Object.entries(DEPTHS).map(([value, text]) => h('option', {value}, text)))
    this.start = h('button.primary', {type: 'submit'}, 'Analyze')
    this.stop = h('button', {type: 'button', hidden: true, onclick: () => this.running?.abort()}, 'Cancel')
    const form = h('form.row.wrap.ask', {onsubmit: (event) => {
      event.preventDefault()
      this.analyze()
    }}, this.folder.node, h('label.field', h('span', 'Depth'), this.depth), h('div.row', this.start, this.stop))
    this.tabs = h('div.tabs', {role: 'tablist', 'aria-label': 'Views of the repository', onkeydown: (event) => this.turn(event)},
      Object.entries(TABS).map(([show, title]) => h('button', {
        type: 'button', role: 'tab', id: `repository-${show}`, 'data-show': show, 'aria-controls': this.panel.id, onclick: () => this.go({show}),
      }, title)))
    put(this.root, h('div.explore.col', form, this.trail, this.tabs, this.status, this.panel))
  }

  turn(event) {
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key]
    if (!step) return
    event.preventDefault()
    const names = Object.keys(TABS)
    const next = names[(names.indexOf(this.place.show) + step + names.length) % names.length]
    this.tabs.querySelector(`[data-show=${next}]`).focus()
    this.go({show: next})
  }

  link(change) {
    const {path, ...query} = {...this.place, ...change}
    return this.ctx.link('repository', ...path.split('/'), query)
  }

  go(change) {
    this.ctx.go(this.link(change))
  }

  route({path, query}) {
    const kept = {...FIRST, ...this.ctx.store.get('repository', {})}
    const asked = path.join('/').replace(/(.)\/+$/, '$1')
    this.place = {path: asked || (query.size ? '.' : kept.path)}
    for (const [name, known] of Object.entries(CHOICES)) {
      this.place[name] = [query.get(name), kept[name]].find((one) => known.includes(one)) ?? FIRST[name]
    }
    this.ctx.store.set('repository', this.place)
    this.draw()
  }

  // Reruns the analysis at the entered path.
  analyze() {
    const path = this.folder?.value().trim().replace(/^\.\/|\/+$/g, '') || '.'
    for (const key of [...answers.keys()]) if (key.endsWith(` ${path}`)) answers.delete(key)
    this.shown = ''
    this.go({path, depth: this.depth.value})
  }

  draw() {
    if (!this.folder?.node.isConnected) return
    const {path, show, depth} = this.place
    this.folder.input.value = path
    this.depth.value = depth
    for (const tab of this.tabs.children) {
      const on = tab.dataset.show === show
      tab.setAttribute('aria-selected', String(on))
      tab.tabIndex = on ? 0 : -1
    }
    this.panel.setAttribute('aria-labelledby', `repository-${show}`)
    this.drawTrail()
    const sign = JSON.stringify(this.place)
    if (sign === this.shown) return
    this.shown = sign
    this.show()
  }

  drawTrail() {
    const {path} = this.place
    const parts = path === '.' ? [] : path.split('/')
    const steps = [['project', '.'], ...parts.map((name, at) => [name || '/', parts.slice(0, at + 1).join('/') || '/'])]
    put(this.trail, steps.map(([name, to], at) => [at > 0 && h('span.quiet', {'aria-hidden': 'true'}, '/'),
      at === steps.length - 1 ? h('strong', {'aria-current': 'location'}, name) : h('a', {href: this.link({path: to})}, name)]))
  }

  // One analysis at a time: a new one cancels the running one.
  async show() {
    this.running?.abort()
    const mine = this.running = new AbortController()
    const held = this.panel.contains(document.activeElement)
    this.busy(true)
    put(this.status)
    put(this.panel)
    try {
      const ways = {report: () => this.report(mine), map: () => this.map(mine), graph: () => this.graph(mine)}
      const node = await ways[this.place.show]()
      if (mine !== this.running || mine.signal.aborted) return
      put(this.panel, node)
      this.center()
      const first = (what) => this.panel.querySelector(what)
      if (held) (first('.graph [aria-current]') ?? first('.treemap button, .graph button') ?? this.panel).focus()
    } catch (error) {
      if (mine === this.running) this.fail(error, mine.signal.aborted)
    }
    if (mine === this.running) this.busy(false)
  }

  // Scrolls the focused node into view; a drawing may be larger than its frame.
  center() {
    const frame = this.panel.querySelector('.graph')
    const node = frame?.querySelector('[aria-current]')
    if (node) frame.scrollTo(node.offsetLeft - (frame.clientWidth - node.offsetWidth) / 2, node.offsetTop - frame.clientHeight / 2)
  }

  busy(on) {
    this.panel.setAttribute('aria-busy', String(on))
    this.stop.hidden = !on
  }

  fail(error, cancelled) {
    this.shown = ''
    const again = h('button.small', {type: 'button', onclick: () => this.draw()}, 'Try again')
    if (cancelled) {
      const came = this.panel.childElementCount ? 'Partial results are below.' : 'No results yet.'
      put(this.status, h('span.pill.warn', 'Cancelled'), h('span', came), again)
      return
    }
    put(this.status)
    put(this.panel, h('div.error-box.col', {role: 'alert'}, h('strong', 'The analysis failed'), h('p', error.message),
      h('div.row.wrap', again, this.place.path !== '.' &&
        h('a.button.small', {href: this.link({path: above(this.place.path)})}, 'Go to parent folder'))))
  }

  // A tool's result, cached or fresh. Shows partial results while it runs.
  async ask(mine, tool, args, path, quiet = false) {
    const key = [this.ctx.target?.name, tool, args.depth, path].join(' ')
    if (answers.has(key)) return answers.get(key)
    const began = performance.now()
    const meter = h('progress', {'aria-label': 'Progress'})
    const said = h('span.quiet', `Running ${tool}…`)
    if (!quiet) put(this.status, meter, said)
    const result = await call(this.ctx, tool, args, {
      signal: mine.signal,
      onProgress: ({progress, total, message}) => {
        if (quiet || mine !== this.running) return
        if (Number(total) > 0) Object.assign(meter, {max: Number(total), value: Math.min(Number(progress), Number(total))})
        put(said, [message, Number(total) > 0 && `${number(progress)} of ${number(total)}`].filter(Boolean).join(': '))
      },
      onPartial: ({content}) => !quiet && mine === this.running && this.piece(content),
    })
    if (!result.structuredContent || typeof result.structuredContent !== 'object') throw new Error(`${tool} returned no structuredContent.`)
    const content = Array.isArray(result.content) ? result.content : []
    const answer = {...result.structuredContent, took: performance.now() - began}
    answer.link = content.find((one) => one?.type === 'resource_link')?.uri
    // A result over docent's page size is shortened; the full one is kept as a resource.
    answer.cut = Boolean(result._meta?.['docent/cut'])
    if (!answer.partial) return keep(key, answer)
    // A call that is stopped early returns only text.
    return {...answer, texts: textsOf(content)}
  }

  piece(content) {
    this.panel.append(...early(textsOf([content].flat())))
  }

  drawStatus(answer, ...more) {
    const lacking = answer.missing?.length ? `: ${answer.missing.join(', ')} are missing` : ''
    put(this.status, answer.partial && [h('span.pill.warn', 'Partial'),
      h('span', `The analysis was stopped early${lacking}.`),
      h('button.small', {type: 'button', onclick: () => this.analyze()}, 'Try again')],
    answer.cut && [h('span.pill.warn', 'Shortened'), h('span', 'The result was shortened. See the full report.')],
    h('span.quiet', `Took ${answer.took < 1000 ? `${Math.round(answer.took)} ms` : `${(answer.took / 1000).toFixed(1)} s`}.`), more)
  }

  async report(mine) {
    const {path, depth} = this.place
    const answer = await this.ask(mine, ANALYZE, {path, depth}, path)
    this.drawStatus(answer, answer.link && h('a', {href: this.ctx.link('resources', answer.link)}, 'Full report as a resource'))
    return answer.partial && !answer.structure ? early(answer.texts) : drawReport(answer, this.ctx)
  }

  // A cached report that is deep enough, or a new one.
  known(mine, path, depths, quiet) {
    const there = depths.find((depth) => answers.has([this.ctx.target?.name, ANALYZE, depth, path].join(' ')))
    return this.ask(mine, ANALYZE, {path, depth: there ?? depths[0]}, path, quiet)
  }

  async map(mine) {
    const {path, by, size: measure} = this.place
    const lines = measure === 'lines'
    const answer = await this.known(mine, path, lines ? ['standard', 'deep'] : ['quick', 'standard', 'deep'])
    const items = by === 'language' ? languages(answer, lines) : lines ? await this.counted(mine, answer) : folders(answer, path)
    if (answer.partial && !answer.structure) {
      this.drawStatus(answer)
      return early(answer.texts)
    }
    this.drawStatus(answer, h('span.quiet', lines ? plural(allLines(answer), 'line') : size(answer.structure?.bytes ?? 0)))
    const choice = (name, label, options) => h('label.row', h('span', label), h('select', {
      onchange: (event) => this.go({[name]: event.target.value}),
    },
      Object.entries(options).map(([value, text]) => h('option', {value, selected: this.place[name] === value}, text))))
    return h('div.col', h('div.row.wrap', choice('by', 'Show', {folder: 'folders and files', language: 'languages'}),
      choice('size', 'sized by', {bytes: 'bytes', lines: 'lines'}),
      path !== '.' && h('a.button.small', {href: this.link({path: above(path)})}, '↑ Parent folder')),
    treemap({
      items, heads: [by === 'language' ? 'Language' : 'Name', 'Contents'], label: `${path === '.' ? 'The project' : path} by ${by}`,
      open: (item) => this.ctx.go(item.file ? this.ctx.link('resources', addressOf(item.path)) : this.link({path: item.path})),
    }))
  }

  // Lines of each folder. A report has only the total of its folder, so each one is requested; the rest are files here.
  async counted(mine, answer) {
    const {path} = this.place
    const inner = folders(answer, path).filter((item) => item.opens && !item.file).slice(0, MOST_FOLDERS)
    const items = []
    for (const [at, item] of inner.entries()) {
      put(this.status, h('progress', {'aria-label': 'Folders counted', max: inner.length, value: at}),
        h('span.quiet', `Counting lines: ${at} of ${inner.length} folders`))
      const report = await this.known(mine, item.path, ['standard', 'deep'], true)
      const lines = allLines(report)
      items.push({...item, size: lines, note: `${plural(lines, 'line')}, mostly ${report.languages?.[0]?.name ?? 'unknown'}`})
    }
    const rest = allLines(answer) - items.reduce((sum, item) => sum + item.size, 0)
    return rest > 0 ? [...items, {name: 'files here', size: rest, note: plural(rest, 'line'), opens: false}] : items
  }

  async graph(mine) {
    if (!this.tools.has(CODE)) return lacks(CODE, this.ctx)
    const {path} = this.place
    const answer = await this.ask(mine, CODE, {file: path, analysisType: 'dependencies'}, path)
    if (answer.partial && !answer.dependencies && !answer.folderDependencies) {
      this.drawStatus(answer)
      return early(answer.texts)
    }
    this.drawStatus(answer, h('span.quiet', answer.dependencies ? `Language: ${answer.language}.`
      : `${plural(answer.files, 'source file')}, ${plural(answer.folderDependencies?.edges, 'connection')}.`))
    return answer.dependencies ? this.fileGraph(answer.dependencies) : this.folderGraph(answer.folderDependencies ?? {})
  }

  walk(path, note) {
    return [h('a.mono', {href: this.link({path: path || '.', show: 'graph'})}, path || 'project'), note && h('span.quiet', ` ${note}`)]
  }

  drawing(nodes, edges, label) {
    return graph({nodes, edges, label, open: (node) => this.go({path: node.path ?? node.id, show: 'graph'})})
  }

  // Dependents of the file on the left, its dependencies on the right.
  fileGraph({file, imports = [], dependents = [], cycle}) {
    const needs = [...new Set(imports.flatMap((one) => (one.files?.length ? one.files : [one.file ?? []].flat())))].filter((one) => one !== file)
    const packages = [...new Set(imports.filter((one) => one.package && !one.package.standard).map((one) => one.package.name))]
    const both = new Set(dependents.filter((one) => needs.includes(one)))
    const node = (column, note) => (id) => ({id, label: labelOf(id), note, column})
    const nodes = [...dependents.map((id) => node(0, both.has(id) ? 'imports it and is imported by it' : 'imports it')(id)),
      {id: file, label: labelOf(file), focus: true, column: 1, opens: false},
      ...needs.filter((id) => !both.has(id)).map(node(2, 'imported by it')),
      ...packages.map((name) => ({id: `package ${name}`, label: `⬡ ${name}`, column: 2, opens: false}))]
    const edges = [...dependents.map((from) => ({from, to: file})), ...needs.map((to) => ({from: file, to})),
      ...packages.map((name) => ({from: file, to: `package ${name}`}))]
    return h('div.col', h('div.row.wrap', h('a', {href: this.ctx.link('resources', addressOf(file))}, 'Definitions in this file'),
      h('a', {href: this.link({path: above(file)})}, 'Folder')),
    edges.length ? this.drawing(nodes, edges, `Dependencies and dependents of ${file}`)
      : h('p.empty', 'No imports found in or of this file.'), this.cycles([cycle].filter(Boolean)),
    table('Imports', ['Line', 'Import', 'Resolves to'], imports.map((one) => [one.line, h('code', one.module),
      one.file ? this.walk(one.file) : one.package ? packageOf(one.package) : h('span.quiet', 'not found')])),
    table('Imported by', ['Imported by'], dependents.map((one) => [this.walk(one)])))
  }

  // The parts of a folder in layers; its neighbors on both sides if it has no parts.
  folderGraph({folder = '', parts = [], incoming = [], outgoing = [], packages = [], mostNeeded = [], cycles = [], partCycles = []}) {
    const pairs = (list) => list.map(({path, edges}) => [this.walk(path), plural(edges, 'connection')])
    const names = [...new Set(parts.flatMap(({from, to}) => [from, to]))]
    const sum = (name, end) => parts.filter((one) => one[end] === name).reduce((all, {edges}) => all + edges, 0)
    const own = (id) => id === folder
    let nodes = names.map((id) => ({id: id || '.', path: id || '.', label: own(id) ? 'files here' : nameOf(id), opens: !own(id),
      note: `imports others ${sum(id, 'from')} times, is imported ${sum(id, 'to')} times`}))
    let edges = parts.map(({from, to}) => ({from: from || '.', to: to || '.'}))
    if (!parts.length && incoming.length + outgoing.length > 0) {
      const self = folder || '.'
      const both = new Set(incoming.map(({path}) => path))
      nodes = [...incoming.map(({path}) => ({id: path, label: nameOf(path), column: 0, note: 'imports it'})),
        {id: self, label: nameOf(self), focus: true, column: 1, opens: false},
        ...outgoing.filter(({path}) => !both.has(path)).map(({path}) => ({id: path, label: nameOf(path), column: 2, note: 'imported by it'}))]
      edges = [...incoming.map(({path}) => ({from: path, to: self})), ...outgoing.map(({path}) => ({from: self, to: path}))]
    }
    return h('div.col', nodes.length ? this.drawing(nodes, edges, `Dependencies within ${folder || 'the project'}`)
      : h('p.empty', 'No imports found here. Choose a folder with source code.'),
    this.cycles([...partCycles, ...cycles]),
    table('Most imported files', ['Most imported files', 'Imported by'], mostNeeded.map((one) => [this.walk(one.file), plural(one.dependents, 'file')])),
    table('Imported by', ['Imported by', 'Connections'], pairs(incoming)), table('Imports', ['Imports', 'Connections'], pairs(outgoing)),
    table('Packages', ['Package', 'Version', 'Used by'], packages.filter((one) => !one.standard).map((one) =>
      [one.name, one.version, plural(one.files, 'file')])))
  }

  cycles(list) {
    const steps = (path) => path.map((one, at) => [at > 0 && h('span.quiet', '→'), this.walk(one)])
    return table('Import cycles', ['Import cycles'], list.map(({path, size: count}) => [h('span.row.wrap', steps(path),
      count > path.length - 1 && h('span.pill.warn', `${count} files in this cycle`))]))
  }

  unmount() {
    this.off()
    this.running?.abort()
  }
}

// Boxes for the direct children of a folder, and one for those that the report omits.
function folders({structure = {}}, base) {
  const direct = (structure.tree ?? []).filter(({path}) => !path.replace(/\/$/, '').includes('/'))
  const items = direct.map(({path, files, bytes}) => {
    const folder = path.endsWith('/')
    const name = path.replace(/\/$/, '')
    return {name: folder ? `${name}/` : name, path: inside(base, name), file: !folder, opens: true, size: bytes,
      note: folder ? `${size(bytes)} in ${plural(files, 'file')}` : size(bytes)}
  })
  const rest = (structure.bytes ?? 0) - items.reduce((sum, item) => sum + item.size, 0)
  return rest > 0 ? [...items, {name: 'other', size: rest, note: size(rest), opens: false}] : items
}

function languages({languages: all = []}, lines) {
  return all.map(({name, files, bytes, lines: counted}) => ({
    name, opens: false, size: lines ? linesOf(counted ?? {}) : bytes,
    note: [plural(files, 'file'), size(bytes), counted && plural(linesOf(counted), 'line')].filter(Boolean).join(', '),
  }))
}

export default {
  id: 'repository', title: 'Repository', icon: '▦',
  mount(root, ctx) {
    const view = new Repository(root, ctx)
    return {route: (route) => view.route(route), unmount: () => view.unmount()}
  },
}
