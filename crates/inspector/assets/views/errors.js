// Errors: each failed call, the meaning of its code, the faulty part of the request, and its log entries.
import {explain, failureOf, mark} from '../codes.js'
import {h, put} from '../dom.js'
import {clock, failed, feedOf, parse, took} from '../feed.js'

// One failure per call, as {key, at, title, peer, era, code, kind, text, micros, load() → {request, answer, logs, audit}}.
function recorded(ctx, feed) {
  const calls = new Map()
  for (const item of feed.book.items) {
    // Prefers the response to the client; before that, the last attempt.
    if (failed(item.entry) && (item.entry.hop === 'client' || calls.get(item.root)?.entry.hop !== 'client')) calls.set(item.root, item)
  }
  return [...calls.values()].map((item) => {
    const {entry, root} = item
    const last = feed.book.calls.get(root).findLast((one) => one.entry.hop === 'client' && one.entry.answers)
    const load = async () => {
      const message = async (one) => parse((one && (await feed.message(one)).payload) || '')
      const [request, answer, call] = await Promise.all([
        message(feed.book.bySeq.get(entry.answers)), message(item), ctx.api.get(`api/call?seq=${entry.seq}`)])
      return {request, answer, logs: call.logs, audit: call.audit}
    }
    return {...entry, key: String(root), seq: entry.seq, title: entry.target ?? entry.method ?? entry.kind, load,
      recovered: last && !failed(last.entry)}
  })
}

// This page's own failed calls, for targets whose traffic docent does not record.
function own({mcp}) {
  return mcp.exchanges.flatMap((one) => {
    // Calls that the page cancelled did not fail.
    const failure = !one.cancelled && (one.error || one.result) ? failureOf(one) : null
    if (!failure) return []
    const request = {id: one.id, method: one.method, params: one.params}
    return [{key: `own-${one.at}-${one.id}`, at: one.at * 1000, title: one.params?.name ?? one.params?.uri ?? one.method, peer: 'this page',
      method: one.method, era: mcp.era, code: failure.code, text: failure.text, micros: one.ms === null ? null : one.ms * 1000,
      load: async () => ({request, answer: one, logs: [], audit: []})}]
  })
}

function mount(root, ctx) {
  const feed = feedOf(ctx)
  const find = () => (ctx.about.docent ? recorded(ctx, feed) : own(ctx)).sort((a, b) => b.at - a.at)
  const name = ({code, kind}) => (code === -1 ? 'isError' : code ?? kind ?? 'no response')
  const list = ctx.list({
    items: [], label: 'Errors', key: (one) => one.key,
    text: (one) => [one.title, one.method, one.peer, name(one), one.text].join(' '),
    row: (one) => [h('div.row', h('span.grow.cut', one.title), h('span.pill.bad', name(one))),
      h('div.quiet.cut', [clock(one.at), one.peer, one.recovered && 'succeeded on retry', one.text].filter(Boolean).join(' · '))],
    open: (one) => ctx.go(ctx.link('errors', one.key)),
    empty: ctx.about.docent && !feed.capture.on ? 'Capture is off. Turn it on in Traffic to see failed calls here.'
      : 'No failed calls. Failures appear here with their meaning and how to fix them.',
  })
  const detail = h('div.detail')
  const split = h('div.split', h('div.side', list.node), detail)
  put(root, split)
  let [wanted, shown, keys, timer] = ['', null, '', null]

  function draw() {
    timer = null
    const items = find()
    const now = items.map((one) => one.key + one.seq).join()
    if (now !== keys) list.update(items)
    keys = now
    // A link may point to any message of the call.
    const key = String(feed.book.bySeq.get(Number(wanted))?.root ?? wanted)
    const one = items.find((item) => item.key === key)
    if (shown !== null && shown === (one?.key ?? '')) return
    shown = one?.key ?? ''
    split.classList.toggle('open', !!wanted)
    if (one) list.select(key)
    put(detail, h('a.button.small.ghost.back', {href: ctx.link('errors')}, '← All errors'), one ? show(ctx, feed, one)
      : h('div.empty', wanted ? 'This call is no longer stored, or did not fail.' : 'Choose an error to see its explanation.'))
  }

  const soon = () => {
    timer ??= setTimeout(draw, 150)
  }
  const stop = ctx.about.docent ? feed.on(soon) : ctx.mcp.on('*', soon)
  const beat = setInterval(() => !ctx.about.docent && soon(), 1000)
  return {
    route({path}) {
      wanted = path[0] ?? ''
      shown = null
      draw()
    },
    unmount() {
      stop()
      clearInterval(beat)
      clearTimeout(timer)
    },
  }
}

function show(ctx, feed, one) {
  const node = h('div.col')
  const fill = (loaded = {}) => {
    const failure = {...one, ...failureOf(loaded.answer)}
    const {name, means, cause, change} = explain(failure)
    const code = failure.code === -1 ? Object(failure.data).code : failure.code
    put(node, h('h2', one.title), h('div.row.wrap', h('span.pill.bad', [code, name].filter(Boolean).join(' ')), one.era && h('span.pill', one.era),
      h('span.quiet', [clock(one.at), one.peer, one.method, took(one.micros)].filter(Boolean).join(' · ')),
      one.seq && h('a', {href: ctx.link('traffic', String(one.seq))}, 'Show in Traffic')),
    failure.text && h('pre.code', {tabindex: 0}, failure.text),
    h('dl.said', [['Meaning', means], ['Likely cause', cause], ['What to change', change],
      ['Outcome', one.recovered && 'A later attempt of the same call succeeded.']].filter(([, text]) => text)
      .map(([term, text]) => [h('dt', term), h('dd', text)])),
    h('h3', 'Request'), request(ctx, feed, loaded, failure),
    failure.data && [h('h3', 'Error data'), h('pre.code', {tabindex: 0}, JSON.stringify(failure.data, null, 2))],
    loaded.logs && one.seq && [lines('Log lines', loaded.logs.map((log) => `${clock(log.at)} ${log.level} ${log.target} ${log.text}`)),
      lines('Audit entry', loaded.audit.map((line) => JSON.stringify(line)))])
  }
  fill()
  one.load().then(fill, (error) => node.append(h('p.bad', error.message)))
  return node
}

function lines(title, texts) {
  return [h('h3', title), texts.length ? h('pre.code', {tabindex: 0}, texts.join('\n')) : h('p.quiet', 'None.')]
}

function request(ctx, feed, loaded, failure) {
  if (loaded.request) {
    return h('pre.code', {tabindex: 0}, mark(loaded.request, failure).map((line) => (line.mark
      ? h('mark.fault', line.text, h('span.bad', ` ← ${line.note ?? 'here'}`)) : `${line.text}\n`)))
  }
  if (!loaded.logs) return h('p.quiet', 'Loading…')
  const on = () => feed.setCapture({on: true, payloads: true}).then(() => ctx.toast('Payload capture is on.', 'ok'),
    (error) => ctx.toast(error.message, 'bad'))
  return h('div.row.wrap', h('p.quiet', 'Payload capture was off. Turn it on and repeat the call.'),
    !feed.capture.payloads && h('button.small', {onclick: on}, 'Capture payloads'))
}

export default {id: 'errors', title: 'Errors', icon: '⚠', mount}
