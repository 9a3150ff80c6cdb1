// Shows the result of `analyze_repository`: project facts, documentation gaps and next steps.

const path = h('input.grow', {name: 'path', 'aria-label': 'Folder', value: '.'})
const depth = h('select', {name: 'depth', 'aria-label': 'Depth'},
  ['quick', 'standard', 'deep'].map((word) => h('option', word)))
const asks = controls('Analyze', analyze, path, depth)
const shown = h('div.results')
depth.value = 'standard'

function analyze() {
  const args = {path: path.value || '.', depth: depth.value}
  during(`Reading ${named(args.path)} …`, async (current) => {
    const result = await call('analyze_repository', args)
    if (current()) show(result)
  })
}

function show(result) {
  const report = result.structuredContent
  if (result.isError || !Array.isArray(report?.languages)) return shown.replaceChildren(plain(result))
  path.value = report.path || '.'
  depth.value = report.depth
  const parts = [overview, gaps, steps, languages, dependencies, commands, checks, troubles]
  shown.replaceChildren(...parts.map((part) => part(report)).filter(Boolean))
}

function overview({name, complete, project, structure, presence, primaryLanguage, missing}) {
  const figure = (term, value) => value && h('div', h('dt', term), h('dd', value))
  return h('section', h('div.row', h('h1', name), project && pill(project.kind), project?.frameworks.map((one) => pill(one))),
    project?.summary && h('p', project.summary),
    !complete && h('p.warn', 'Not every folder was read: missing items may exist.'),
    missing.length > 0 && h('p.warn', `This is partial. It lacks ${missing.join(', ')}.`),
    h('dl.figures',
      figure('Files', `${number(structure.files)} in ${many(structure.folders, 'folder')}`),
      figure('Size', bytes(structure.bytes)), figure('Language', primaryLanguage),
      figure('License', presence.licenceId || presence.licence || 'none'),
      figure('README', presence.readme || 'none'), figure('Documents', number(presence.documentFiles)),
      figure('Tests', number(presence.testFiles + presence.inlineTestFiles)),
      figure('CI', presence.ci.length ? many(presence.ci.length, 'file') : 'none')))
}

function gaps({gaps}) {
  if (!gaps.length) return section('Gaps', h('p.quiet', 'No documentation gaps found.'))
  return section('Gaps', h('ul.bare', gaps.map((one) => h('li.card',
    h('div.row', severity(one.severity), h('strong.grow', one.gap)), h('p.quiet', one.cost)))))
}

function steps({nextSteps}) {
  return nextSteps.length > 0 && section('Next steps', h('ol', nextSteps.map((one) => h('li', one))))
}

function languages({languages}) {
  const lines = ({lines, files}) => (lines ? `${number(lines.code)} lines` : many(files, 'file'))
  return section('Languages', h('div.shares', languages.slice(0, 12).map((one) => [
    h('span', one.name), bar(one.share), h('span.quiet', `${one.share.toFixed(1)} % · ${lines(one)}`)])),
    languages.length > 12 && h('p.quiet', `And ${many(languages.length - 12, 'more language')}.`))
}

function dependencies({dependencies, manifests, manifestCount}) {
  if (!manifests.length) return null
  const of = dependencies
  return section('Dependencies',
    of && h('p', `${number(of.direct)} direct, ${number(of.development)} for development alone, ${number(of.locked)} locked.`),
    of?.mostUsed.length > 0 && h('p.row', h('span.quiet', 'Most used:'), of.mostUsed.map((one) => pill(`${one.name} × ${one.by}`))),
    manifests.slice(0, 50).map((one) => h('details',
      h('summary', h('code', one.path), ` ${[one.name, one.version].filter(Boolean).join(' ')} `,
        h('span.quiet', one.manager || one.ecosystem,
          of && `, ${many(one.dependencies.length, 'dependency', 'dependencies')}`)),
      one.description && h('p', one.description),
      one.dependencies.length > 0 && table(['name', 'asked for', 'locked', 'for'],
        one.dependencies.map(({name, requirement, locked, purpose}) => [name, requirement, locked, purpose])))),
    manifestCount > 50 && h('p.quiet', `There are ${many(manifestCount, 'manifest')}; the first 50 are shown.`))
}

function commands({project}) {
  if (!project?.commands.length) return null
  const rows = project.commands.map((one) => [one.purpose, h('code', one.command), one.folder, h('span.quiet', one.source)])
  return section('Commands', table(['for', 'command', 'in', 'says'], rows))
}

// Results of a deep analysis only.
function checks({coverage, links, drift, history, tasks}) {
  const facts = [
    coverage && `${number(coverage.documented)} of ${number(coverage.public)} public symbols are documented (${coverage.percent.toFixed(0)} %).`,
    links && `${number(links.brokenCount)} of ${many(links.checked, 'link')} are broken.`,
    drift && `${many(drift.staleCount, 'mention')} in documents name what is no longer there.`,
    tasks && `${many(tasks.count, 'open task')} in comments.`,
  ].filter(Boolean)
  if (!facts.length && !history) return null
  const places = [
    ...(links?.broken ?? []).map((one) => [`${one.path}:${one.line}`, one.target, one.suggestion]),
    ...(drift?.stale ?? []).map((one) => [`${one.path}:${one.line}`, one.mention, one.suggestion]),
  ]
  return section('Checks', h('ul', facts.map((one) => h('li', one))),
    places.length > 0 && h('details', h('summary', `${many(places.length, 'place')} to mend`),
      table(['where', 'says', 'perhaps'], places.map(([where, ...rest]) => [h('code', where), ...rest]))))
}

function troubles({problems, problemCount}) {
  if (!problemCount) return null
  return h('details', h('summary', `${many(problemCount, 'thing')} could not be read`),
    table(['path', 'reason'], problems.map((one) => [h('code', one.path), one.reason])))
}

document.querySelector('main').append(asks, line, shown)
begin({
  ready() {
    asks.hidden = !able.serverTools
  },
  input(args) {
    path.value = args.path ?? '.'
    depth.value = args.depth ?? 'standard'
    say(`Reading ${named(path.value)} …`)
  },
  result: show,
})
