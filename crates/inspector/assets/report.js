// Draws the report on a repository, section by section. What names a file leads to that file's definitions.
import {h} from './dom.js'
import {size} from './feed.js'

const FEW = 12
const SEVERITY = {high: 'bad', medium: 'warn', low: 'info'}

export const number = (value) => Number(value ?? 0).toLocaleString('en')
export const plural = (count, word) => `${number(count)} ${word}${Number(count) === 1 ? '' : 's'}`
const all = (list) => (Array.isArray(list) ? list : [])

/** The address of a file's definitions. */
export const addressOf = (path) => `ast://project/${path.split('/').map(encodeURIComponent).join('/')}`

/** A path inside a folder, from the root. */
export const inside = (folder, path) => (folder === '.' || folder === '' ? path : `${folder}/${path}`)

/** A share of a whole as a bar with its figure. */
export function share(percent, label) {
  const part = Math.min(100, Math.max(0, Number(percent) || 0))
  return h('span.score', {title: label}, h('span.meter', h('i', {style: {width: `${part}%`}})), h('b', `${part.toFixed(part < 10 ? 1 : 0)} %`))
}

/** A table whose rows beyond the first few are folded away. */
export function table(label, heads, rows) {
  if (!rows.length) return null
  const body = (some) => h('tbody', some.map((row) => h('tr', row.map((cell) => h('td', cell)))))
  const whole = (some) => h('div.scroll', {tabindex: 0, role: 'group', 'aria-label': label}, h('table.table',
    h('thead', h('tr', heads.map((head) => h('th', {scope: 'col'}, head)))), body(some)))
  if (rows.length <= FEW) return whole(rows)
  return [whole(rows.slice(0, FEW)), h('details', h('summary', `${rows.length - FEW} more`), whole(rows.slice(FEW)))]
}

function section(title, ...children) {
  const kept = children.flat().filter(Boolean)
  return kept.length > 0 && h('section.panel.col', {'aria-label': title}, h('h3', title), kept)
}

const pills = (texts) => texts.length > 0 && h('div.row.wrap', texts.map((text) => h('span.pill', text)))
const severity = (word) => h('span.pill', {class: SEVERITY[word] ?? ''}, word)

/** The whole report. */
export function drawReport(told, ctx) {
  const base = told.path ?? '.'
  // Commands name their source with a line: `Makefile:12`.
  const file = (path, line) => {
    if (!path) return null
    const [, plain, own] = /^(.*?)(?::(\d+))?$/.exec(String(path))
    const at = line ?? own
    return h('a.mono', {href: ctx.link('resources', addressOf(inside(base, plain)))}, at ? `${plain}:${at}` : plain)
  }
  const parts = [lacking, steps, work, languages, packages, documents, coverage, links, drift, history, redundancy, tasks, problems]
  return h('div.col', head(told), parts.map((part) => part(told, file)))
}

function head({name, structure = {}, project, presence = {}, primaryLanguage, ecosystems}) {
  const tests = Number(presence.testFiles ?? 0) + Number(presence.inlineTestFiles ?? 0)
  return h('section.panel.col', {'aria-label': 'In short'}, h('h2', name || 'The project'), project?.summary && h('p', project.summary),
    pills([project?.kind, primaryLanguage, ...all(project?.frameworks), ...all(ecosystems), presence.licenceId].filter(Boolean)),
    h('p.quiet', [`${plural(structure.files, 'file')} in ${plural(structure.folders, 'folder')}, ${size(structure.bytes ?? 0)}`,
      tests > 0 && `${number(tests)} with tests`,
      all(presence.ci).length > 0 && `CI: ${presence.ci.join(', ')}`].filter(Boolean).join(' · ')))
}

function lacking({gaps}) {
  return section('What newcomers miss', all(gaps).length > 0 && h('ul.plain', all(gaps).map((one) =>
    h('li', h('div.row.wrap', severity(one.severity), h('strong', one.gap)), h('p', one.cost), h('p.quiet', '→ ', one.nextStep)))))
}

function steps({nextSteps}) {
  return section('Next steps', all(nextSteps).length > 0 && h('ol', all(nextSteps).map((step) => h('li', step))))
}

function work({project}, file) {
  if (!project) return null
  const from = (one) => (one.folder && one.folder !== '.' ? ` in ${one.folder}` : '')
  return section('Working with it',
    table('Commands', ['For', 'Command', 'Said by'], all(project.commands).map((one) =>
      [one.purpose, [h('code', one.command), from(one)], file(one.source)])),
    table('Entry points', ['Entry point', 'Kind', 'Begins in'], all(project.entryPoints).map((one) =>
      [one.name, one.kind, file(one.path ?? one.declaredIn)])),
    pills([...all(project.toolchain).map((one) => `${one.name} ${one.requirement}`), ...all(project.environment)]))
}

function languages({languages: told}) {
  const counted = all(told).some((one) => one.lines)
  const row = (one) => [one.name, number(one.files), size(one.bytes), ...(counted ? [number(one.lines?.code), number(one.lines?.comments)] : []),
    share(one.share, 'Share of the bytes of all languages')]
  const heads = ['Language', 'Files', 'Size', ...(counted ? ['Code lines', 'Comments'] : []), 'Share']
  return section('Languages', table('Languages', heads, all(told).map(row)))
}

function packages({dependencies: told, manifests}, file) {
  return section('Packages',
    told && h('p', `${number(told.direct)} direct, ${number(told.development)} for development, ${number(told.locked)} locked.`),
    told && pills(all(told.mostUsed).map((one) => (one.by > 1 ? `${one.name} × ${one.by}` : one.name))),
    table('Manifests', ['Manifest', 'Package', 'Asks for'], all(manifests).map((one) => [file(one.path),
      [one.name, one.version].filter(Boolean).join(' ') || one.ecosystem, plural(all(one.dependencies).length, 'package')])))
}

function documents({documentation: told}, file) {
  if (!told) return null
  const {readme} = told
  const missed = all(readme?.items).filter((one) => !one.found)
  return section('Documentation',
    readme && h('div.row.wrap', file(readme.path), share(readme.score, 'Of 100, by what each item costs a newcomer who misses it')),
    missed.length > 0 && h('ul.plain', missed.map((one) =>
      h('li', h('div.row.wrap', severity(one.severity), h('strong', one.item)), h('p.quiet', one.evidence)))),
    pills(all(told.kinds).map((one) => `${one.kind} ${one.count}`)),
    table('Documents', ['Document', 'Title', 'For', 'Words'], all(told.documents).map((one) =>
      [file(one.path), one.title, one.kind, number(one.words)])))
}

function coverage({coverage: told}, file) {
  if (!told) return null
  return section('Doc comments',
    h('div.row.wrap', share(told.percent, 'Public symbols with a doc comment'),
      h('span.quiet', `${number(told.documented)} of ${number(told.public)} public symbols`)),
    table('Folders', ['Folder', 'Documented', 'Share'], all(told.folders).map((one) =>
      [one.name, `${one.documented} of ${one.public}`, share(one.percent)])),
    table('Without a doc comment', ['Without a doc comment', 'Kind', 'Where'], all(told.undocumented).map((one) =>
      [h('code', one.symbol), one.kind, file(one.path, one.line)])))
}

function links({links: told}, file) {
  if (!told?.checked && !told?.external) return null
  return section('Links', h('p', `${plural(told.checked, 'link')} checked, ${number(told.brokenCount)} broken; `,
    `${number(told.external)} lead to other hosts and were not asked.`),
    table('Broken links', ['Where', 'Leads to', 'Problem'], all(told.broken).map((one) =>
      [file(one.path, one.line), h('code', one.target), [one.problem, one.suggestion && `: ${one.suggestion}?`]])))
}

function drift({drift: told}, file) {
  if (!told?.checked && !all(told?.outdated).length) return null
  return section('Documents and code', h('p', `${plural(told.checked, 'name')} in documents looked up, ${number(told.staleCount)} no longer there.`),
    table('Names that are gone', ['Where', 'Names', 'Why', 'Sure'], all(told.stale).map((one) =>
      [file(one.path, one.line), h('code', one.mention), [one.evidence, one.suggestion && ` ${one.suggestion}?`], severity(one.severity)])),
    table('Outdated documents', ['Document', 'Last change', 'The code changed since'], all(told.outdated).map((one) =>
      [file(one.path), one.lastChange, `${plural(one.changes, 'time')}: ${all(one.changed).join(', ')}`])))
}

function history({history: told}, file) {
  if (!told) return null
  const {releases = {}} = told
  const span = told.since ? ` from ${told.since} to ${told.until}` : ''
  return section('History', h('p', `${plural(told.commits, 'commit')}${span} by ${plural(told.authorCount, 'author')}; `,
    `${number(told.busFactor)} made more than half of the changes.`, told.truncated && ' Older commits were not looked at.',
    releases.count > 0 && ` ${plural(releases.count, 'release')}, the newest ${all(releases.newest)[0]?.tag}.`),
  table('Hot spots', ['Hot spot', 'Changes', 'Complexity', 'Score'], all(told.hotSpots).map((one) =>
    [file(one.path), number(one.changes), number(one.complexity), share(one.score, 'Changes times complexity, of 100 for the worst one')])),
  table('Authors', ['Author', 'Commits', 'Share', 'Last'], all(told.owners).map((one) =>
    [one.name, number(one.commits), share(one.share), one.last])),
  table('Folders', ['Folder', 'Changes', 'Mostly by', 'Share'], all(told.folders).map((one) =>
    [one.path, number(one.changes), one.mainAuthor, share(one.share)])))
}

function redundancy({redundancy: told}, file) {
  return told && section('Repeated and unreached documents',
    table('Alike', ['Document', 'Is much like', 'Alike'], all(told.duplicates).map((one) => [file(one.one), file(one.other), share(one.alike)])),
    table('Unreached', ['Nothing leads to'], all(told.dead).map((path) => [file(path)])),
    table('Empty', ['Next to no text'], all(told.empty).map((path) => [file(path)])))
}

function tasks({tasks: told}, file) {
  return told?.count > 0 && section('Open tasks', h('p', `${plural(told.count, 'mark')} such as TODO and FIXME.`),
    table('Files with open tasks', ['File', 'Marks'], all(told.files).map((one) => [file(one.path), number(one.count)])))
}

function problems({problems: told, problemCount}) {
  return all(told).length > 0 && section(`Could not be read (${number(problemCount)})`,
    table('Problems', ['What', 'Why'], all(told).map((one) => [h('span.mono', one.path), one.reason])))
}
