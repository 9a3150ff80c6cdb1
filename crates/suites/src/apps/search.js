// Searches code with `query_annotations` and documents with `search_documentation`, and shows the results.

const PLACES = {code: 'Code', docs: 'Documentation'}
let place = 'code'
const query = h('input.grow', {name: 'query', type: 'search', 'aria-label': 'Search query', maxlength: 1000})
const choice = h('select', {name: 'in', 'aria-label': 'Search in', onchange: () => { place = choice.value }},
  Object.entries(PLACES).map(([value, words]) => h('option', {value}, words)))
const asks = controls('Search', search, query, choice)
const shown = h('div.results')

function look(where) {
  place = choice.value = where
}

function search() {
  const asked = query.value.trim()
  if (!asked) return
  during(`Searching for ${asked} …`, async (current) => {
    const result = place === 'code'
      ? await call('query_annotations', {query: asked, options: {limit: 20, threshold: 0.3}})
      : await call('search_documentation', {query: asked, max_results: 10})
    if (current()) show(result)
  })
}

function show(result) {
  const found = result.structuredContent
  if (result.isError || !Array.isArray(found?.results)) return shown.replaceChildren(plain(result))
  const ofCode = 'threshold' in found
  look(ofCode ? 'code' : 'docs')
  const near = found.results.length ? [] : found.nearest ?? []
  shown.replaceChildren(
    h('p.quiet', found.results.length ? `${many(found.results.length, 'result')}, best first`
      : near.length ? `No strong matches (threshold ${found.threshold}). Closest:` : 'No matches.'),
    ...(found.notes ?? []).map((note) => h('p.warn', note)),
    h('ol.bare.results', {role: 'list'}, [...found.results, ...near].map(ofCode ? definition : passage)))
}

const score = (value) => h('span.row', {title: 'Match score, from 0 to 1'}, h('span.score', bar(100 * value)), Number(value).toFixed(2))

// A button that shows or hides the result of a call below it.
function more(words, ask) {
  const text = block('')
  text.hidden = true
  const button = h('button.link', {type: 'button', 'aria-expanded': 'false', onclick: async () => {
    if (!text.textContent) {
      button.disabled = true
      text.textContent = await ask().then(resultText, (error) => error.message)
      button.disabled = false
    }
    text.hidden = !text.hidden
    button.setAttribute('aria-expanded', String(!text.hidden))
  }}, words)
  return able.serverTools ? [button, text] : []
}

function definition(hit) {
  return h('li.card',
    h('div.row', pill(hit.type), h('strong.grow', hit.name), score(hit.similarity)),
    h('p.row', h('code', `${hit.file}:${hit.line}`), hit.changed && pill('changed since indexed', 'warn')),
    h('code', hit.signature), hit.description && h('p', hit.description),
    hit.snippet && block(numbered(hit.snippet, hit.snippetLine)),
    hit.alike?.length > 0 && h('p.quiet', `Near-identical: ${hit.alike.join(', ')}.`),
    more('Read the definition', () => call('read_symbol', {symbol: hit.name, file: hit.file})))
}

function numbered(text, first) {
  const lines = text.split('\n')
  const width = String(first + lines.length - 1).length
  return lines.map((line, at) => `${String(first + at).padStart(width)}  ${line}`).join('\n')
}

function passage({text, metadata: of, score: value}) {
  const section = of.path?.length ? of.path.join(' › ') : of.section
  return h('li.card',
    h('div.row', pill(of.collection), h('strong.grow', of.title), score(value)),
    h('p', section, of.page && h('span.quiet', ` page ${of.page}`), of.version && h('span.quiet', ` version ${of.version}`)),
    block(text),
    h('p.row', h('code', of.source),
      of.url && able.openLinks && h('button.link', {type: 'button', onclick: () => openLink(of.url)}, 'Open on the web')),
    more('Read the whole section', () => call('get_document', {document_id: of.source, section: of.section})))
}

document.querySelector('main').append(h('h1.sr', TITLE), asks, line, shown)
begin({
  ready({toolInfo}) {
    asks.hidden = !able.serverTools
    if (toolInfo?.tool?.name?.endsWith('search_documentation')) look('docs')
  },
  input(args) {
    query.value = args.query ?? ''
    say(`Searching for ${query.value} …`)
  },
  result: show,
})
