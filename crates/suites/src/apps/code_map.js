// Shows the results of `outline` and `analyze_code` for a file or folder, with links to its contents, imports and
// dependents.

const LENSES = {
  outline: 'Definitions', dependencies: 'Dependencies', complexity: 'Complexity', patterns: 'Patterns', security: 'Security',
}
let here = {path: '.', lens: 'outline'}
const walked = []
const crumbs = h('nav.row', {'aria-label': 'Path'})
const tabs = h('div.row', {role: 'group', 'aria-label': 'View'})
const shown = h('div.results')

const walks = () => Boolean(able.serverTools)
const same = (one, other) => one.path === other.path && one.lens === other.lens

// Fetches one view of a path and shows it.
function go(path, lens = here.lens, back = false) {
  const there = {path: path || '.', lens}
  during(`Reading ${named(there.path)} …`, async (current) => {
    const result = lens === 'outline'
      ? await call('outline', {path: there.path, maxTokens: 8000})
      : await call('analyze_code', {file: there.path, analysisType: lens})
    if (!current()) return
    if (!back && !same(here, there)) walked.push(here)
    here = there
    show(result)
  })
}

// A path as a link.
function step(path, words = path) {
  return walks() ? h('button.link.mono', {type: 'button', onclick: () => go(path)}, words) : h('code', words)
}

function frame() {
  const parts = here.path === '.' ? [] : here.path.split('/').filter(Boolean)
  crumbs.replaceChildren(
    h('button', {type: 'button', disabled: !walked.length, onclick: back}, '← Back'),
    step('.', 'project'), ...parts.flatMap((part, at) => ['/', step(parts.slice(0, at + 1).join('/'), part)]))
  tabs.replaceChildren(...Object.entries(LENSES).map(([lens, words]) => h('button',
    {type: 'button', 'aria-pressed': String(lens === here.lens), onclick: () => go(here.path, lens)}, words)))
  crumbs.hidden = tabs.hidden = !walks()
}

function back() {
  const {path, lens} = walked.pop()
  go(path, lens, true)
}

function show(result) {
  const found = result.structuredContent
  if (Array.isArray(found?.files)) here = {path: found.path || '.', lens: 'outline'}
  else if (LENSES[found?.analysisType]) here = {path: found.file || '.', lens: found.analysisType}
  frame()
  const part = result.isError || !found ? null : view(found)
  const title = h('h1', here.path === '.' ? 'The project' : here.path)
  const partial = found?.partial === true ? [h('p.warn', 'This is partial: time ran out before everything was analyzed.')] : []
  shown.replaceChildren(...(part ? [title, ...partial, ...part] : [plain(result)]))
}

function view(found) {
  if (Array.isArray(found.files)) return outline(found)
  const notes = [
    found.syntaxErrorLine && h('p.warn', `Line ${found.syntaxErrorLine} can't be parsed: results after it may be incomplete.`),
    found.problems?.map((one) => h('p.warn', `${one.path}: ${one.reason}`)),
  ].flat().filter(Boolean)
  if (found.dependencies) return [...notes, ...ofFile(found.dependencies)]
  if (found.folderDependencies) return [...notes, ...ofFolder(found.folderDependencies)]
  if (found.complexity) return [...notes, functions(found.complexity.functions, found.file)]
  if (found.hardest) return [...notes, functions(found.hardest)]
  if (found.findings || found.patterns) return [...notes, findings(found)]
  return null
}

// Skips folders that contain only another folder.
function shared(files, top) {
  const first = files[0]?.path ?? ''
  const next = first.startsWith(top) ? first.indexOf('/', top.length) : -1
  const deeper = first.slice(0, next + 1)
  return next > 0 && files.length > 1 && files.every((file) => file.path.startsWith(deeper)) ? shared(files, deeper) : top
}

// Subfolders by number of definitions, then the definitions, as far as the answer has them.
function outline({path, files, totalFiles, totalDefinitions, detail}) {
  const top = shared(files, path === '.' || !path ? '' : `${path}/`)
  const parts = new Map()
  for (const file of files) {
    const below = file.path.startsWith(top) ? file.path.slice(top.length) : file.path
    const name = below.split('/')[0]
    if (file.path === path || !name) continue
    const part = parts.get(name) ?? {name, files: 0, definitions: 0}
    part.files += 1
    part.definitions += file.definitions
    parts.set(name, part)
  }
  const most = Math.max(1, ...[...parts.values()].map((part) => part.definitions))
  const sorted = [...parts.values()].sort((one, other) => other.definitions - one.definitions)
  return [
    h('p.quiet', `${many(totalFiles, 'file')}, ${many(totalDefinitions, 'definition')}`),
    parts.size > 0 && section(top ? `Parts of ${top}` : 'Parts', h('div.shares', sorted.map((part) => [
      step(top + part.name, part.name), bar((100 * part.definitions) / most),
      h('span.quiet', many(part.definitions, 'definition'))]))),
    detail === 'whole' || detail === 'top' ? section('Definitions', files.filter((file) => file.items).map((file) => h('details',
      {open: files.length === 1}, h('summary', h('code', file.path), h('span.quiet', ` ${many(file.definitions, 'definition')}`)),
      h('div.tree', files.length > 1 && step(file.path, 'Go to this file'), items(file.items))))) : null,
  ].filter(Boolean)
}

function items(all) {
  return h('ul.bare', all.map((one) => h('li', {title: one.signature}, h('div.row', pill(one.type), h('strong', one.name),
    h('span.quiet', one.line === one.endLine ? `line ${one.line}` : `lines ${one.line}–${one.endLine}`)),
  h('code.quiet', one.signature), one.items && h('div.tree', items(one.items)))))
}

const list = (title, rows, none) => section(title, rows.length ? h('ul.bare', rows.map((row) => h('li.row', row))) : h('p.quiet', none))
const version = (one) => (one.standard ? pill('standard') : one.version && pill(one.version))
const circles = (all) => all.length > 0 && section('Import cycles', h('ul.bare', all.slice(0, 20).map(({path, size}) => h('li.card',
  h('div.row', pill(`${number(size)} files`, 'warn'), path.map((one, at) => [at > 0 && '→', step(one)]))))))

function ofFile({imports, dependents, cycle}) {
  const files = [...new Set(imports.flatMap((one) => [one.file, ...(one.files ?? [])]).filter(Boolean))]
  const packages = new Map(imports.filter((one) => one.package).map((one) => [one.package.name, one.package]))
  const lost = imports.filter((one) => one.local && !one.file && !one.files?.length)
  return [
    h('div.columns',
      list(`Imported by (${dependents.length})`, dependents.map((one) => [step(one)]), 'No file imports it.'),
      list(`Imports (${files.length})`, files.map((one) => [step(one)]), 'It imports no project files.'),
      list(`Packages (${packages.size})`, [...packages.values()].map((one) => [one.name, version(one)]), 'It imports no packages.')),
    lost.length > 0 && list('Not found', lost.map((one) => [h('code', one.module), h('span.quiet', `line ${one.line}`)])),
    circles(cycle ? [cycle] : []),
  ].filter(Boolean)
}

function ofFolder({folder, files, edges, parts, incoming, outgoing, packages, mostNeeded, cycles, partCycles}) {
  const full = (part) => (folder ? `${folder}/${part}` : part)
  const most = Math.max(1, ...parts.map((one) => one.edges))
  const neighbours = (all) => all.map((one) => [step(one.path), h('span.quiet', many(one.edges, 'import'))])
  return [
    h('p.quiet', `${many(files, 'file')}, ${many(edges, 'import')} among them`),
    parts.length > 0 && section('Imports between parts', h('div.shares', parts.slice(0, 40).map((one) => [
      h('span.row', step(full(one.from), one.from), '→', step(full(one.to), one.to)), bar((100 * one.edges) / most),
      h('span.quiet', number(one.edges))]))),
    h('div.columns',
      folder && list(`Imported by (${incoming.length})`, neighbours(incoming), 'Nothing outside imports it.'),
      folder && list(`Imports (${outgoing.length})`, neighbours(outgoing), 'It imports nothing else in the project.'),
      list('Most imported', mostNeeded.slice(0, 15).map((one) => [step(one.file), h('span.quiet', many(one.dependents, 'file'))]), 'Nothing.'),
      list(`Packages (${packages.length})`, packages.slice(0, 30).map((one) => [one.name, version(one),
        h('span.quiet', many(one.files, 'file'))]), 'None.')),
    circles(partCycles), circles(cycles),
  ].filter(Boolean)
}

function functions(all, file) {
  if (!all.length) return h('p.quiet', 'No functions.')
  return section('Most complex functions', table(['function', 'grade', 'cognitive', 'cyclomatic', 'nesting', 'lines'],
    [...all].sort((one, other) => other.cognitive - one.cognitive).slice(0, 100).map((one) => [
      [h('strong', one.name), h('div', one.file && one.file !== file ? step(one.file, `${one.file}:${one.line}`) : `line ${one.line}`)],
      severity(one.grade), one.cognitive, one.cyclomatic, one.nesting, one.length])))
}

function findings({findings = [], patterns = [], total}) {
  const where = (one) => step(one.file, `${one.file}:${one.line ?? one.lines?.[0] ?? ''}`)
  const rules = findings.map((one) => h('li.card', h('div.row', severity(one.severity), h('strong', one.rule), one.cwe && pill(one.cwe), where(one)),
    h('p', one.message), one.evidence && block(one.evidence), one.fix && h('p.quiet', one.fix)))
  const designs = patterns.map((one) => h('li.card', h('div.row', pill(one.sort, one.sort === 'smell' ? 'warn' : ''), h('strong', one.name), where(one)),
    h('p', one.message), one.fix && h('p.quiet', one.fix)))
  const all = [...rules, ...designs]
  return section(all.length ? `${many(total ?? all.length, 'finding')}` : 'No findings', h('ul.bare', all))
}

document.querySelector('main').append(crumbs, tabs, line, shown)
begin({
  ready({toolInfo}) {
    frame()
    if (!toolInfo && walks()) go('.')
  },
  input(args) {
    here = {path: args.path ?? args.file ?? '.', lens: LENSES[args.analysisType] ? args.analysisType : 'outline'}
    frame()
    say(`Reading ${named(here.path)} …`)
  },
  result: show,
})
