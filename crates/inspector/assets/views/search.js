// Searches code and documents with docent's tools, and explains each hit.
import {h, put} from '../dom.js'

const PLACES = {
  code: {
    title: 'Code', tool: 'query_annotations', filters: ['type', 'language', 'paths', 'threshold', 'limit'],
    schema: (tool) => tool.inputSchema?.properties?.options?.properties ?? {},
    args: (query, options) => ({query, options}),
  },
  docs: {
    title: 'Documentation', tool: 'search_documentation', filters: ['doc_type', 'max_results'],
    schema: (tool) => tool.inputSchema?.properties ?? {},
    args: (query, options) => ({query, ...options}),
  },
}
const AGAIN = 3000
// Follow-up actions for a hit: the tool, its arguments, the button label.
const FURTHER = {
  code: [['read_symbol', (hit) => ({symbol: hit.id}), 'Open source'],
    ['find_references', (hit) => ({symbol: hit.name}), 'Find references']],
  docs: [['get_document', ({metadata}) => ({document_id: metadata.source}), 'Read the document']],
}

// The message for servers that lack docent's tools.
export function lacks(tool, ctx) {
  return h('div.empty', h('p', `${ctx.target?.name ?? 'This server'} has no tool ${tool}.`),
    h('p', 'This view uses docent’s own tools. Start ', h('code', 'docent inspect'), ' in a project, or choose docent as the target.'))
}

// The result of a tool call; throws if the tool failed.
export async function call(ctx, name, args, options) {
  const result = await ctx.mcp.request('tools/call', {name, arguments: args}, options)
  if (result.isError) throw new Error(result.content?.[0]?.text ?? `${name} failed.`)
  return result
}

export function bar(label, value, title) {
  const share = Math.round(Math.min(1, Math.max(0, value)) * 100)
  return h('span.score', {title}, label, h('span.meter', h('i', {style: {width: `${share}%`}})), h('b', value.toFixed(2)))
}

// Highlights query words and the words the index matched, including inflected forms.
function marker(query, hit) {
  const words = [...query.toLowerCase().matchAll(/[\p{L}\p{N}_]{3,}/gu)].map(([word]) => word)
    .concat((hit.why?.matched ?? []).map(({word}) => String(word).toLowerCase())).filter(Boolean)
  if (!words.length) return (text) => [text]
  const escaped = [...new Set(words)].sort((one, other) => other.length - one.length)
    .map((word) => word.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'))
  const found = new RegExp(`(${escaped.join('|')})`, 'giu')
  return (text) => String(text).split(found).map((part, at) => (at % 2 ? h('mark', part) : part))
}

function reasons(hit) {
  const {why} = hit
  return h('div.row.wrap.scores', bar('score', hit.similarity ?? hit.score, 'Match score, 0 to 1'),
    why && bar('words', why.words, 'Share of the query’s words that it contains'),
    why && bar('meaning', why.meaning, 'Semantic similarity'),
    (why?.matched ?? []).map(({word, fields}) => h('span.pill', `${word} in ${[fields].flat().join(', ')}`)))
}

function article(kind, hit, query, ctx, tools) {
  const mark = marker(query, hit)
  const more = h('div')
  const follow = async (tool, args) => {
    put(more, h('p.quiet', {role: 'status'}, 'Loading…'))
    try {
      const {content} = await call(ctx, tool, args(hit))
      put(more, h('pre.code', {tabindex: '0'}, content.filter(({type}) => type === 'text').map(({text}) => text).join('\n')))
    } catch (error) {
      put(more, h('p.bad', error.message))
    }
  }
  const {metadata = {}} = hit
  const uri = hit.file && `ast://project/${hit.file.split('/').map(encodeURIComponent).join('/')}`
  return h('article.panel.col', {tabindex: '-1'}, h('div.row.wrap', h('h3', mark(hit.name ?? (metadata.section || metadata.title))),
    h('span.pill', hit.type ?? metadata.collection), hit.changed && h('span.pill.warn', 'changed since indexing')),
  uri ? h('a.mono', {href: ctx.link('resources', uri)}, `${hit.file}:${hit.line}`)
    : h('span.quiet', [metadata.title, ...(metadata.path ?? []).slice(1)].join(' › '), ' · ', h('span.mono', metadata.source)),
  reasons(hit), hit.description && h('p', mark(hit.description)),
  h('pre.code.snippet', {tabindex: '0'}, mark(hit.snippet ?? hit.text)),
  hit.alike?.length > 0 && h('p.quiet', `Similar: ${hit.alike.join(', ')}`),
  h('div.row.wrap', FURTHER[kind].filter(([tool]) => tools.has(tool)).map(([tool, args, label]) =>
    h('button.small', {type: 'button', onclick: () => follow(tool, args)}, label))), more)
}

// A field for one option of the schema; empty means the tool's default.
function field(name, schema, value = '') {
  const options = schema.enum ?? (schema.anyOf ?? []).flatMap((one) => one.enum ?? [])
  const label = name.replace('_', ' ')
  const input = options.length
    ? h('select', {name}, h('option', {value: ''}, 'any'), options.map((one) => h('option', {value: one, selected: one === value}, one)))
    : h('input.input', {name, value, type: /integer|number/.test(schema.type) ? 'number' : 'text', step: 'any',
      min: schema.minimum, max: schema.maximum, placeholder: schema.type === 'array' ? 'src/**/*.rs' : schema.default})
  return h('label.field', {title: schema.description}, h('span', label), input)
}

// The filled-in options, converted to their schema types.
function chosen(form, place, schema) {
  const all = Object.fromEntries(Object.entries(filled(form, place)).map(([name, value]) => [name,
    /integer|number/.test(schema[name].type) ? Number(value) : schema[name].type === 'array' ? value.split(/[\s,]+/) : value]))
  return schema.explain ? {...all, explain: true} : all
}

function filled(form, {filters}) {
  return Object.fromEntries(filters.map((name) => [name, form.elements[name]?.value.trim()]).filter(([, value]) => value))
}

class Search {
  tools = null
  running = null
  kind = 'code'
  // The query in the URL: {q, in, and options by name}.
  asked = {}

  constructor(root, ctx) {
    this.ctx = ctx
    this.query = h('input.input.grow', {type: 'search', name: 'q', required: true, maxlength: 1000,
      'aria-label': 'What to search for', placeholder: 'Search by meaning or by name'})
    this.where = h('select', {name: 'in', 'aria-label': 'Where to search', onchange: () => this.go()},
      Object.entries(PLACES).map(([value, {title}]) => h('option', {value}, title)))
    this.filters = h('div.row.wrap.filters')
    this.status = h('p.quiet', {role: 'status'})
    this.hits = h('div.col')
    this.form = h('form.col', {onsubmit: (event) => {
      event.preventDefault()
      this.go()
    }}, h('div.row.wrap.question', this.query, this.where, h('button.primary', 'Search')), this.filters)
    put(root, h('div.explore.col', this.form, this.status, this.hits))
    this.off = ctx.mcp.on('state', () => this.learn())
    ctx.keys({'/': () => this.query.focus(), 'mod+Enter': () => this.go(), j: () => this.step(1), k: () => this.step(-1)})
    this.learn()
  }

  get place() {
    return PLACES[this.kind]
  }

  go() {
    // Options differ between code and documentation.
    const options = this.where.value === this.kind ? filled(this.form, this.place) : {}
    this.ctx.go(this.ctx.link('search', {q: this.query.value, in: this.where.value, ...options}))
  }

  // The next hit, or the one before.
  step(by) {
    const all = [...this.hits.querySelectorAll('article')]
    const at = all.indexOf(document.activeElement.closest?.('article'))
    all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + by))]?.focus()
  }

  async learn() {
    if (this.ctx.mcp.state !== 'ready') return
    if (!this.tools) put(this.hits, h('p.empty', 'Loading tools…'))
    try {
      this.tools = new Map((await this.ctx.mcp.list('tools/list', 'tools')).map((tool) => [tool.name, tool]))
      this.show()
    } catch (error) {
      this.fail('Cannot load the list of tools', error)
    }
  }

  route({query}) {
    this.asked = query.has('q') ? Object.fromEntries(query) : this.ctx.store.get('search', {})
    this.ctx.store.set('search', this.asked)
    this.query.value = this.asked.q ?? ''
    this.show()
  }

  // Runs the query in the URL once the server's tools are known.
  show() {
    this.kind = PLACES[this.asked.in] ? this.asked.in : 'code'
    this.where.value = this.kind
    if (!this.tools) return
    this.running?.abort()
    clearTimeout(this.later)
    const tool = this.tools.get(this.place.tool)
    put(this.filters)
    put(this.status)
    if (!tool) return put(this.hits, lacks(this.place.tool, this.ctx))
    const schema = this.place.schema(tool)
    put(this.filters, this.place.filters.filter((name) => schema[name]).map((name) => field(name, schema[name], this.asked[name])))
    if (this.asked.q) return this.search(schema)
    put(this.hits, h('p.empty', 'Search for a definition or a passage: “where are sessions opened”, “retry with backoff”.'))
  }

  async search(schema) {
    clearTimeout(this.later)
    const mine = this.running = new AbortController()
    const {kind, place, ctx} = this
    const said = h('span', 'Searching…')
    put(this.status, said, ' ', h('button.small', {type: 'button', onclick: () => mine.abort()}, 'Cancel'))
    put(this.hits)
    try {
      const {structuredContent: answer = {}} = await call(ctx, place.tool, place.args(this.asked.q, chosen(this.form, place, schema)), {
        signal: mine.signal,
        // The first search of a project waits for its index.
        onProgress: ({message, progress, total}) => put(said, message || 'Searching…', Number(total) > 0 && ` ${progress} of ${total}`),
      })
      if (mine === this.running) this.found(kind, answer, () => mine === this.running && this.search(schema))
    } catch (error) {
      if (mine !== this.running) return
      if (mine.signal.aborted) put(this.status, 'Cancelled.')
      else this.fail('The search failed', error)
    }
  }

  // While the index is being built the same query finds more later: without hits it is repeated.
  found(kind, answer, again) {
    const below = !answer.results?.length
    const all = (below ? answer.nearest : answer.results) ?? []
    put(this.status, `${all.length} ${all.length === 1 ? 'hit' : 'hits'}`,
      below && all.length > 0 && `, all below the threshold of ${answer.threshold}`, '. ', (answer.notes ?? []).join(' '), ' ',
      answer.complete === false && h('button.small', {type: 'button', onclick: again}, 'Search again'))
    if (answer.complete === false && !all.length) {
      this.later = setTimeout(again, AGAIN)
      return
    }
    put(this.hits, all.map((hit) => article(kind, hit, this.asked.q, this.ctx, this.tools)),
      !all.length && h('p.empty', kind === 'code' ? 'No matches. Lower the threshold, or use other words.'
        : ['No matches. Use other words, or add documents: ', h('code', 'docent docs add NAME FOLDER'), '.']))
  }

  fail(title, error) {
    put(this.status)
    put(this.hits, h('div.error-box', {role: 'alert'}, h('strong', title), h('p', error.message)))
  }

  unmount() {
    this.off()
    clearTimeout(this.later)
    this.running?.abort()
  }
}

export default {
  id: 'search', title: 'Search', icon: '⌕',
  mount(root, ctx) {
    const view = new Search(root, ctx)
    return {route: (route) => view.route(route), unmount: () => view.unmount()}
  },
}
