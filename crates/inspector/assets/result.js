// Renders a server's result by type: Markdown, JSON, images, audio, resources and links. Untrusted content stays text, or
// goes into an element that can only be an image or audio.
import {explain, failureOf, mark} from './codes.js'
import {h, put} from './dom.js'
import {size} from './feed.js'
import {tree} from './jsonview.js'
import {markdown} from './markdown.js'
import {check} from './schema.js'

const LONGEST = 200_000
const MAX_SNIFFED = 20_000
const MOST_BLOCKS = 200
const PICTURE = /^image\/(png|jpeg|gif|webp|avif|bmp|svg\+xml)$/i
const SOUND = /^(audio\/[\w.+-]+)$/i
const NO_BASE64 = /[^\w+/=\s-]/

const text = (value) => (typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value))

/** The result of a call; `tool` is its definition, or null where there is none. */
export function showResult(result, tool, ctx) {
  const {content, structuredContent, isError} = Object(result)
  const blocks = Array.isArray(content) ? content : []
  const failure = failureOf({result})
  const structured = structuredContent !== undefined ? JSON.stringify(structuredContent) : null
  const shown = blocks.slice(0, MOST_BLOCKS).map((block) => [block, block?.type === 'text' && sameAs(block.text, structured)])
  return h('div.result.col',
    failure && failureBox(failure, ctx),
    content !== undefined && !Array.isArray(content) && h('div.panel', h('p.warn', 'content is not an array:'), tree(content)),
    isError !== undefined && typeof isError !== 'boolean' && h('p.warn', `isError is ${text(isError)}, which is not a boolean.`),
    // Content for the model comes first; text that repeats the structured content follows, collapsed.
    shown.map(([block, same]) => !same && showBlock(block, ctx)),
    structuredPart(structuredContent, tool, Boolean(failure)),
    shown.map(([block, same]) => same && framed(block, 'Text', h('details', h('summary', 'Same content as text'), plain(block.text)))),
    blocks.length > MOST_BLOCKS && h('p.warn', `${blocks.length - MOST_BLOCKS} more blocks in the raw result.`),
    !blocks.length && content === undefined && structuredContent === undefined && h('p.quiet', 'The result has no content.'),
    Array.isArray(content) && !blocks.length && structuredContent === undefined && h('p.quiet', 'The content array is empty.'),
    result?._meta !== undefined && h('details', h('summary', 'Result metadata'), tree(result._meta)))
}

function structuredPart(value, tool, failed) {
  const schema = tool?.outputSchema
  if (value === undefined) {
    return schema !== undefined && !failed && problemList('The tool has an outputSchema, but the result has no structuredContent.', [])
  }
  const problems = schema === undefined ? [] : check(schema, value)
  return h('div.block', {role: 'group', 'aria-label': 'Structured content'},
    h('div.row.wrap', h('h3', 'Structured content'), schema === undefined ? h('span.pill', 'no outputSchema')
      : problems.length ? h('span.pill.bad', `${problems.length} outputSchema violations`) : h('span.pill.ok', 'matches outputSchema')),
    problems.length > 0 && problemList('Does not match the tool\'s outputSchema:', problems), tree(value, {open: 2}))
}

function problemList(title, problems) {
  return h('div.error-box', h('strong', title), problems.length > 0 && h('ul.problems', problems.slice(0, 50).map(({path, reason}) =>
    h('li', h('code', path || '(root)'), ' ', reason))))
}

/** Explains a failed call: its error code, meaning, and the faulty part of the request. */
export function showFailure(error, ctx) {
  const {request} = error
  const {code, message, data} = error
  const failure = {code, text: message, data, kind: code === null ? 'lost' : 'error', method: request?.method}
  const lines = request && code !== null ? mark(request, failure) : []
  return h('div.result.col', failureBox(failure, ctx),
    lines.some((line) => line.mark) && h('details', {open: true}, h('summary', 'Request'),
      h('pre.code', {tabindex: 0}, lines.map((line) => (line.mark
        ? h('mark.fault', line.text, h('span.bad', ` ← ${line.note ?? 'here'}`)) : `${line.text}\n`)))),
    data !== undefined && h('details', {open: true}, h('summary', 'Error data'), tree(data)))
}

function failureBox(failure, ctx) {
  const {name, means, cause, change} = explain({...failure, era: ctx.mcp?.era})
  const title = failure.code === -1 ? 'Tool returned an error' : failure.code === null ? name : `Error ${text(failure.code)}: ${name}`
  return h('div.error-box', {role: 'alert'}, h('strong', title),
    failure.code !== -1 && h('p.said-text', {tabindex: failure.text.length > 500 && 0}, failure.text),
    h('details', {open: failure.code !== -1}, h('summary', 'Details'),
      h('dl.said', [['Meaning', means], ['Likely cause', cause], ['What to change', change]].filter(([, words]) => words)
        .map(([term, words]) => [h('dt', term), h('dd', words)])),
      h('a', {href: ctx.link('errors')}, 'All failed calls')))
}

function showBlock(block, ctx) {
  if (block === null || typeof block !== 'object' || Array.isArray(block)) return odd(block, 'Invalid content block.')
  const {type} = block
  if (type === 'text') {
    if (typeof block.text !== 'string') return odd(block, 'Invalid text block: its text is not a string.')
    return framed(block, 'Text', showText(block.text))
  }
  if (type === 'image') return framed(block, 'Image', showPicture(block.mimeType, block.data))
  if (type === 'audio') return framed(block, 'Audio', showSound(block.mimeType, block.data))
  if (type === 'resource') return framed(block, 'Resource', showContents([block.resource], ctx))
  if (type === 'resource_link') return framed(block, 'Link', showLink(block, ctx))
  return odd(block, `Unknown block type: ${text(type) || '(none)'}.`)
}

const odd = (value, why) => h('div.block', h('p.warn', why), tree(value))

function sameAs(words, structured) {
  if (structured === null || typeof words !== 'string' || words.length > LONGEST) return false
  try {
    return JSON.stringify(JSON.parse(words)) === structured
  } catch {
    return false
  }
}

// A block with its annotations.
function framed({annotations, _meta}, label, node) {
  const {audience, priority, lastModified} = Object(annotations)
  const facts = [Array.isArray(audience) && `for ${audience.map(text).join(', ')}`, priority !== undefined && `priority ${text(priority)}`,
    lastModified !== undefined && `modified ${text(lastModified)}`].filter(Boolean)
  return h('div.block', {role: 'group', 'aria-label': label},
    facts.length > 0 && h('div.facts', facts.map((one) => h('span.pill', one))), node,
    _meta !== undefined && h('details', h('summary', 'Block metadata'), tree(_meta)))
}

const SIGNS = /^#{1,6} \S|^\s{0,3}[-*+] \S|^\s{0,3}\d+\. \S|\*\*\S|^```|\]\(|^\|.*\|\s*$/m

// Detects whether a text is JSON, Markdown, or plain text.
function kindOf(words, mime) {
  if (/[/+]json\b/i.test(mime) || (!mime && /^\s*[[{]/.test(words))) {
    try {
      const value = JSON.parse(words)
      if (value !== null && typeof value === 'object') return {kind: 'JSON', value}
    } catch {
      // Not JSON: fall through to plain text.
    }
  }
  if (/^text\/markdown/i.test(mime) || (!mime && SIGNS.test(words.slice(0, MAX_SNIFFED)))) return {kind: 'Markdown'}
  return {kind: 'Text'}
}

// A rendered text, and a button that shows its source.
function showText(words, mime = '') {
  const {kind, value} = kindOf(words, mime)
  if (words === '') return h('p.quiet', 'Empty text.')
  const place = h('div')
  if (kind === 'Text') return put(place, plain(words))
  const isRaw = () => toggle.getAttribute('aria-pressed') === 'true'
  const toggle = h('button.small', {type: 'button', onclick: () => draw(!isRaw())}, 'As text')
  const draw = (raw) => {
    toggle.setAttribute('aria-pressed', String(raw))
    put(place, raw ? plain(words) : kind === 'JSON' ? tree(value, {open: 2}) : markdown(words))
  }
  draw(false)
  return h('div.shown', h('div.row.kind', h('span.pill', kind), h('span.grow'), toggle), place)
}

function plain(words) {
  if (words.length <= LONGEST) return h('pre.code', {tabindex: 0, role: 'group', 'aria-label': 'Text'}, words)
  const node = h('pre.code', {tabindex: 0, role: 'group', 'aria-label': 'Text'}, words.slice(0, LONGEST))
  const button = h('button.small', {type: 'button', onclick: () => {
    put(node, words)
    button.remove()
  }}, `Show all ${words.length.toLocaleString()} characters`)
  return h('div.col', node, h('div', button))
}

const isBase64 = (data) => typeof data === 'string' && !NO_BASE64.test(data)
const bytesOf = (data) => Math.floor(data.replace(/[\s=]/g, '').length * 3 / 4)

// Offers bytes as a download under a type that no browser opens.
function saveButton(data, name) {
  return h('button.small', {type: 'button', onclick: () => {
    const bytes = Uint8Array.from(atob(data.replace(/\s/g, '').replaceAll('-', '+').replaceAll('_', '/')), (one) => one.charCodeAt(0))
    const address = URL.createObjectURL(new Blob([bytes], {type: 'application/octet-stream'}))
    const link = h('a', {download: name})
    link.href = address
    link.click()
    setTimeout(() => URL.revokeObjectURL(address), 10_000)
  }}, 'Save')
}

const nameFor = (mime) => `docent.${/^\w+\/([a-z0-9]{1,5})/i.exec(text(mime))?.[1] ?? 'bin'}`

function bytesLine(mime, data, ...more) {
  return h('div.row.wrap', h('span.pill', text(mime) || 'no type'), h('span.quiet', size(bytesOf(data))), more,
    saveButton(data, nameFor(mime)))
}

function showPicture(mime, data) {
  if (!isBase64(data)) {
    return h('div.col', h('p.warn', `Image (${text(mime)}) with invalid base64 data.`), plain(text(data).slice(0, 500)))
  }
  if (!PICTURE.test(text(mime))) {
    return h('div.col', h('p.warn', `Unsupported image type: ${text(mime) || '(none)'}.`), bytesLine(mime, data))
  }
  const about = h('span.quiet')
  const picture = h('img', {
    src: `data:${mime};base64,${data}`, alt: `Image, ${mime}`,
    onload: () => put(about, `${picture.naturalWidth} × ${picture.naturalHeight}`),
    onerror: () => picture.replaceWith(h('p.warn', `The browser cannot decode this as ${mime}.`)),
  })
  return h('div.col', picture, bytesLine(mime, data, about))
}

function showSound(mime, data) {
  if (!isBase64(data) || !SOUND.test(text(mime))) {
    const why = `Unsupported audio type: ${text(mime) || '(none)'}.`
    return h('div.col', h('p.warn', why), isBase64(data) && bytesLine(mime, data))
  }
  const player = h('audio', {controls: true, preload: 'metadata', src: `data:${mime};base64,${data}`, 'aria-label': `Audio, ${mime}`})
  return h('div.col', player, bytesLine(mime, data))
}

const isWeb = (uri) => /^https?:\/\//i.test(uri)

// A URI: the server's own open in Resources, web addresses in a new tab.
function place(uri, ctx) {
  return h('div.row.wrap', h('a.address-line', {href: ctx.link('resources', uri)}, uri),
    isWeb(uri) && h('a.button.small', {href: uri, target: '_blank', rel: 'noopener noreferrer'}, 'Open in a new tab'))
}

function showLink({uri, name, title, description, mimeType, size: bytes}, ctx) {
  return h('div.col', h('div.row.wrap', h('strong', text(title) || text(name) || 'A link'),
    mimeType !== undefined && h('span.pill', text(mimeType)), Number.isFinite(bytes) && h('span.quiet', size(bytes))),
  typeof uri === 'string' && uri ? place(uri, ctx) : h('p.warn', 'The link has no URI.'),
  description !== undefined && h('p.quiet', text(description)))
}

/** Contents of resources: [{uri, mimeType, text | blob}]. */
export function showContents(contents, ctx) {
  return h('div.col', (Array.isArray(contents) ? contents : [contents]).slice(0, MOST_BLOCKS).map((one) => {
    if (one === null || typeof one !== 'object' || Array.isArray(one)) return odd(one, 'Invalid resource contents.')
    const address = typeof one.uri === 'string' && one.uri && place(one.uri, ctx)
    return h('div.contents.col', {role: 'group', 'aria-label': 'Contents'}, address, body(one))
  }))
}

function body({mimeType, text: words, blob, ...rest}) {
  const mime = text(mimeType)
  if (typeof words === 'string') {
    const picture = /^image\/svg\+xml$/i.test(mime) && words.length < LONGEST && showPicture(mime, base64(words))
    return h('div.col', mime && h('div', h('span.pill', mime)), picture, showText(words, mime.replace(/^text\/plain.*/i, '')))
  }
  if (typeof blob !== 'string') return odd({mimeType, ...rest}, 'The contents have neither text nor blob.')
  if (/^image\//i.test(mime)) return showPicture(mime, blob)
  if (/^audio\//i.test(mime)) return showSound(mime, blob)
  return isBase64(blob) ? bytesLine(mime, blob) : h('p.warn', 'Invalid base64.')
}

function base64(words) {
  let bytes = ''
  for (const one of new TextEncoder().encode(words)) bytes += String.fromCharCode(one)
  return btoa(bytes)
}
