// Builds the page's nodes. Text only ever becomes text nodes: no part of the page parses markup.

const SVG = 'http://www.w3.org/2000/svg'
// Attributes that people read or hear.
const SPOKEN = new Set(['title', 'alt', 'placeholder', 'aria-label', 'aria-description', 'aria-valuetext', 'label'])

// h('button.small', {onclick, disabled: true}, 'Run', node, [more]). Names with `on` are listeners; `class`, `style`
// objects and attributes are set as given; false, null and undefined omit a child or an attribute.
export function h(spec, properties, ...children) {
  const [tag, ...classes] = spec.split('.')
  const node = document.createElement(tag)
  if (classes.length) node.className = classes.join(' ')
  return fill(node, properties, children)
}

// The same for SVG.
export function svg(tag, properties, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children)
}

// Replaces a node's children.
export function put(node, ...children) {
  node.replaceChildren(...nodes(children))
  return node
}

function fill(node, properties, children) {
  const plain = properties?.constructor === Object
  if (plain) for (const [name, value] of Object.entries(properties)) set(node, name, value)
  else children = [properties, ...children]
  node.append(...nodes(children))
  return node
}

function set(node, name, value) {
  if (value === undefined || value === null || value === false) return
  if (name.startsWith('on')) node.addEventListener(name.slice(2), value)
  else if (name === 'class') node.classList.add(...value.split(' ').filter(Boolean))
  else if (name === 'style') for (const [key, one] of Object.entries(value)) node.style.setProperty(key, one)
  else if (name === 'value') node.value = value
  else if (name === 'href') node.setAttribute('href', safe(value))
  else if (SPOKEN.has(name)) node.setAttribute(name, visible(String(value)))
  else node.setAttribute(name, value === true ? '' : value)
}

function nodes(children) {
  return children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false && child !== '')
    .map((child) => (child instanceof Node ? child : document.createTextNode(visible(written(child)))))
}

// Shows an object as JSON where text was expected.
function written(value) {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

// A URL that a click may follow, or `#`.
function safe(address) {
  return /^(#|https?:\/\/|mailto:)/i.test(address) ? address : '#'
}

// Invisible or reordering characters: controls, fillers, joiners, bidi marks, interlinear marks, tags.
const HIDDEN = new RegExp('[\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u115f\\u1160\\u180e' +
  '\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb\\u{e0000}-\\u{e0fff}]', 'gu')

// Replaces them with their code points.
export function visible(text) {
  return text.replace(HIDDEN,
    (character) => `\u27e8U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}\u27e9`)
}
