// Page services for the views: dialogs, toasts, the clipboard, and keyboard shortcuts.
import {h} from './dom.js'

const toasts = h('div.toasts', {role: 'status', 'aria-live': 'polite'})
document.body.append(toasts)

// Shows a message for a few seconds. Kinds: ok, warn, bad, or '' for plain.
export function toast(text, kind = '') {
  const node = h('div.toast', {class: kind}, text)
  toasts.append(node)
  if (toasts.childElementCount > 4) toasts.firstChild.remove()
  setTimeout(() => node.remove(), kind === 'bad' ? 9000 : 4000)
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text)
    toast('Copied.', 'ok')
  } catch {
    toast('The browser blocked the clipboard. Select the text and copy it manually.', 'bad')
  }
}

// Opens a dialog and resolves to the chosen action's value; Escape resolves to null. `body` is a node, or a function that
// gets `close(value)` and returns one. An action with `check` closes only if that returns true. `signal` closes with null.
export function dialog({title, body, actions = [{label: 'Close', value: null}], signal}) {
  return new Promise((resolve) => {
    const heading = h('h2', {id: `dialog-${Math.random().toString(36).slice(2)}`, tabindex: '-1'}, title)
    const node = h('dialog', {'aria-labelledby': heading.id})
    const close = (value = null) => {
      if (!node.isConnected) return
      signal?.removeEventListener('abort', abort)
      node.close()
      node.remove()
      resolve(value)
    }
    const abort = () => close(null)
    const press = (action) => () => (!action.check || action.check()) && close(action.value)
    const buttons = actions.map((action) => h('button', {
      type: 'button', class: action.primary ? 'primary' : action.danger ? 'danger' : '', onclick: press(action),
    }, action.label))
    node.append(heading, h('div.body', typeof body === 'function' ? body(close) : body), h('div.actions', buttons))
    node.addEventListener('cancel', (event) => {
      event.preventDefault()
      close(null)
    })
    document.body.append(node)
    node.showModal()
    // No button is focused at first: a key meant for the page must not confirm anything.
    const field = node.querySelector('.body :is(input, textarea, select):not([readonly])')
    ;(field ?? heading).focus()
    if (signal?.aborted) close(null)
    else signal?.addEventListener('abort', abort)
  })
}

const bindings = []

// Binds keys: {'/': fn, 'mod+Enter': fn}; {run, label} instead of a function is listed in the help. The last binding
// runs first, and passes the key on by returning false.
export function keys(wanted) {
  const entry = Object.fromEntries(Object.entries(wanted).map(([key, run]) =>
    [key, typeof run === 'function' ? {run, label: ''} : run]))
  bindings.unshift(entry)
  return () => {
    const at = bindings.indexOf(entry)
    if (at >= 0) bindings.splice(at, 1)
  }
}

// Keys with a label, for the help.
export function namedKeys() {
  return bindings.flatMap((entry) => Object.entries(entry)).filter(([, {label}]) => label)
    .map(([key, {label}]) => [key, label])
}

function isField(node) {
  return node?.isContentEditable || /^(TEXTAREA|SELECT)$/.test(node?.tagName) ||
    (node?.tagName === 'INPUT' && !/^(checkbox|radio|button|range)$/.test(node.type))
}

function nameOf(event) {
  const mod = event.metaKey || event.ctrlKey
  return (mod ? 'mod+' : '') + (event.altKey ? 'alt+' : '') + event.key
}

document.addEventListener('keydown', (event) => {
  const name = nameOf(event)
  const plain = name === event.key
  if (event.defaultPrevented || event.isComposing || document.querySelector('dialog[open]')) return
  // In a field, single keys are text; Escape leaves the field.
  if (isField(event.target) && plain && event.key !== 'Escape') return
  // Enter and space belong to the focused control.
  if (plain && /^(Enter| )$/.test(event.key) && event.target.closest('button, a, summary, [role=listbox]')) return
  for (const entry of [...bindings]) {
    if (!Object.hasOwn(entry, name) || entry[name].run(event) === false) continue
    event.preventDefault()
    return
  }
  if (event.key === 'Escape' && isField(event.target)) event.target.blur()
})
