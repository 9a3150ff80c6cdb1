// Draws the repository report, section by section. File names link to the file's definitions.
import {h} from './dom.js'
import {size} from './feed.js'

const FEW = 12
const SEVERITY = {high: 'bad', medium: 'warn', low: 'info'}

export const number = (value) => Number(value ?? 0).toLocaleString('en')
export const plural = (count, word) => `${number(count)} ${word}${Number(count) === 1 ? '' : 's'}`
const all = (list) => (Array.isArray(list) ? list : [])

/** The URI of a file's definitions. */
export const addressOf = (path) => `ast://project/${path.split('/').map(encodeURIComponent).join('/')}`

/** A path inside a folder, from the root. */
export const inside = (folder, path) => (folder === '.' || folder === '' ? path : `${folder}/${path}`)

/** A percentage as a bar with its value. */
export function share(percent, label) {
  const part = Math.min(100, Math.max(0, Number(percent) || 0))
  return h('span.score', {title: label}, h('span.meter', h('i', {style: {width: `${part}%`}})), h('b', `${part.toFixed(part < 10 ? 1 : 0)} %`))
}

/** A table with the rows beyond the first few collapsed. */
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
export function drawReport(data, ctx) {
  const base = data.path ?? '.'
  // Commands name their source with a line number: `Makefile:12`.
  const file = (path, line) => {
    if (!path) return null
    const [, plain, own] = /^(.*?)(?::(\d+))?$/.exec(String(path))
    const at = line ?? own
    return h('a.mono', {href: ctx.link('resources', addressOf(inside(base, plain)))}, at ? `${plain}:${at}` : plain)
  }
  const parts = [lacking, steps, work, languages, packages, documents, coverage, links, drift, history, redundancy, tasks, problems]
  return h('div.col', head(data), parts.map((part) => part(data, file)))
}

function head({name, structure = {}, project, presence = {}, primaryLanguage, ecosystems}) {
  const tests = Number(presence.testFiles ?? 0) + Number(presence.inlineTestFiles ?? 0)
  return h('section.panel.col', {'aria-label': 'Summary'}, h('h2', name || 'The project'), project?.summary && h('p', project.summary),
    pills([project?.kind, primaryLanguage, ...all(project?.frameworks), ...all(ecosystems), presence.licenceId].filter(Boolean)),
    h('p.quiet', [`${plural(structure.files, 'file')} in ${plural(structure.folders, 'folder')}, ${size(structure.bytes ?? 0)}`,
      tests > 0 && `${number(tests)} with tests`,
      all(presence.ci).length > 0 && `CI: ${presence.ci.join(', ')}`].filter(Boolean).join(' · ')))
}

function lacking({gaps}) {
  return section('Documentation gaps', all(gaps).length > 0 && h('ul.plain', all(gaps).map((one) =>
    h('li', h('div.row.wrap', severity(one.severity), h('strong', one.gap)), h('p', one.cost), h('p.quiet', '→ ', one.nextStep)))))
}

function steps({nextSteps}) {
  return section('Next steps', all(nextSteps).length > 0 && h('ol', all(nextSteps).map((step) => h('li', step))))
}

function work({project}, file) {
  if (!project) return null
  const from = (one) => (one.folder && one.folder !== '.' ? ` in ${one.folder}` : '')
  return section('Development',
    table('Commands', ['Purpose', 'Command', 'Source'], all(project.commands).map((one) =>
      [one.purpose, [h('code', one.command), from(one)], file(one.source)])),
    table('Entry points', ['Entry point', 'Kind', 'File'], all(project.entryPoints).map((one) =>
      [one.name, one.kind, file(one.path ?? one.declaredIn)])),
    pills([...all(project.toolchain).map((one) => `${one.name} ${one.requirement}`), ...all(project.environment)]))
}

function languages({languages: data}) {
  const counted = all(data).some((one) => one.lines)
  const row = (one) => [one.name, number(one.files), size(one.bytes), ...(counted ? [number(one.lines?.code), number(one.lines?.comments)] : []),
    share(one.share, 'Share of bytes across all languages')]
  const heads = ['Language', 'Files', 'Size', ...(counted ? ['Code lines', 'Comments'] : []), 'Share']
  return section('Languages', table('Languages', heads, all(data).map(row)))
}

function packages({dependencies: data, manifests}, file) {
  return section('Packages',
    data && h('p', `${number(data.direct)} direct, ${number(data.development)} for development, ${number(data.locked)} locked.`),
    data && pills(all(data.mostUsed).map((one) => (one.by > 1 ? `${one.name} × ${one.by}` : one.name))),
    table('Manifests', ['Manifest', 'Package', 'Dependencies'], all(manifests).map((one) => [file(one.path),
      [one.name, one.version].filter(Boolean).join(' ') || one.ecosystem, plural(all(one.dependencies).length, 'package')])))
}

function documents({documentation: data}, file) {
  if (!data) return null
  const {readme} = data
  const missed = all(readme?.items).filter((one) => !one.found)
  return section('Documentation',
    readme && h('div.row.wrap', file(readme.path), share(readme.score, 'Score out of 100, weighted by the importance of each item')),
    missed.length > 0 && h('ul.plain', missed.map((one) =>
      h('li', h('div.row.wrap', severity(one.severity), h('strong', one.item)), h('p.quiet', one.evidence)))),
    pills(all(data.kinds).map((one) => `${one.kind} ${one.count}`)),
    table('Documents', ['Document', 'Title', 'Kind', 'Words'], all(data.documents).map((one) =>
      [file(one.path), one.title, one.kind, number(one.words)])))
}

function coverage({coverage: data}, file) {
  if (!data) return null
  return section('Doc comments',
    h('div.row.wrap', share(data.percent, 'Public symbols with a doc comment'),
      h('span.quiet', `${number(data.documented)} of ${number(data.public)} public symbols`)),
    table('Folders', ['Folder', 'Documented', 'Share'], all(data.folders).map((one) =>
      [one.name, `${one.documented} of ${one.public}`, share(one.percent)])),
    table('Without a doc comment', ['Without a doc comment', 'Kind', 'Location'], all(data.undocumented).map((one) =>
      [h('code', one.symbol), one.kind, file(one.path, one.line)])))
}

function links({links: data}, file) {
  if (!data?.checked && !data?.external) return null
  return section('Links', h('p', `${plural(data.checked, 'link')} checked, ${number(data.brokenCount)} broken; `,
    `${number(data.external)} external links were not checked.`),
    table('Broken links', ['Location', 'Target', 'Problem'], all(data.broken).map((one) =>
      [file(one.path, one.line), h('code', one.target), [one.problem, one.suggestion && `: ${one.suggestion}?`]])))
}

function drift({drift: data}, file) {
  if (!data?.checked && !all(data?.outdated).length) return null
  return section('Documents and code', h('p', `${plural(data.checked, 'name')} in documents checked, ${number(data.staleCount)} no longer in the code.`),
    table('Stale names', ['Location', 'Name', 'Reason', 'Severity'], all(data.stale).map((one) =>
      [file(one.path, one.line), h('code', one.mention), [one.evidence, one.suggestion && ` ${one.suggestion}?`], severity(one.severity)])),
    table('Outdated documents', ['Document', 'Last change', 'Code changes since'], all(data.outdated).map((one) =>
      [file(one.path), one.lastChange, `${plural(one.changes, 'time')}: ${all(one.changed).join(', ')}`])))
}

function history({history: data}, file) {
  if (!data) return null
  const {releases = {}} = data
  const span = data.since ? ` from ${data.since} to ${data.until}` : ''
  return section('History', h('p', `${plural(data.commits, 'commit')}${span} by ${plural(data.authorCount, 'author')}; `,
    `${number(data.busFactor)} made more than half of the changes.`, data.truncated && ' Older commits were not analyzed.',
    releases.count > 0 && ` ${plural(releases.count, 'release')}, the newest ${all(releases.newest)[0]?.tag}.`),
  table('Hot spots', ['Hot spot', 'Changes', 'Complexity', 'Score'], all(data.hotSpots).map((one) =>
    [file(one.path), number(one.changes), number(one.complexity), share(one.score, 'Changes × complexity, scaled to 100 for the worst file')])),
  table('Authors', ['Author', 'Commits', 'Share', 'Last'], all(data.owners).map((one) =>
    [one.name, number(one.commits), share(one.share), one.last])),
  table('Folders', ['Folder', 'Changes', 'Main author', 'Share'], all(data.folders).map((one) =>
    [one.path, number(one.changes), one.mainAuthor, share(one.share)])))
}

function redundancy({redundancy: data}, file) {
  return data && section('Duplicate and unlinked documents',
    table('Duplicates', ['Document', 'Similar to', 'Similarity'], all(data.duplicates).map((one) => [file(one.one), file(one.other), share(one.alike)])),
    table('Unlinked', ['Unlinked document'], all(data.dead).map((path) => [file(path)])),
    table('Empty', ['Almost empty'], all(data.empty).map((path) => [file(path)])))
}

function tasks({tasks: data}, file) {
  return data?.count > 0 && section('Open tasks', h('p', `${plural(data.count, 'comment')} such as TODO and FIXME.`),
    table('Files with open tasks', ['File', 'Comments'], all(data.files).map((one) => [file(one.path), number(one.count)])))
}

function problems({problems: data, problemCount}) {
  return all(data).length > 0 && section(`Unreadable files (${number(problemCount)})`,
    table('Problems', ['File', 'Reason'], all(data).map((one) => [h('span.mono', one.path), one.reason])))
}
