// Compares two texts by lines (Myers), for two columns side by side. Bounded: if the texts differ in more than MOST_EDITS
// lines, everything between their common prefix and suffix is shown as replaced.

const MOST_EDITS = 1000
const MOST_LINES = 20_000

/**
 * Rows for two columns: {kind: 'same'|'changed'|'gone'|'new', left: [line number, text]|null, right: the same}.
 * `cut` lines of the longer text are omitted.
 */
export function diff(before, after) {
  const all = [before.split('\n'), after.split('\n')]
  const [a, b] = all.map((lines) => lines.slice(0, MOST_LINES))
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1
  let end = 0
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1
  const middle = edits(a.slice(start, a.length - end), b.slice(start, b.length - end))
  const rows = [...Array(start).fill('same'), ...middle, ...Array(end).fill('same')]
  return {rows: beside(rows, a, b), cut: Math.max(...all.map((lines) => lines.length - MOST_LINES), 0)}
}

// The shortest edit script from `a` to `b`, as 'same', 'gone' and 'new'.
function edits(a, b) {
  const replaced = [...Array(a.length).fill('gone'), ...Array(b.length).fill('new')]
  if (!a.length || !b.length) return replaced
  const most = Math.min(a.length + b.length, MOST_EDITS)
  const reach = new Int32Array(2 * most + 2)
  const trace = []
  for (let d = 0; d <= most; d += 1) {
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && reach[most + k - 1] < reach[most + k + 1])
      let x = down ? reach[most + k + 1] : reach[most + k - 1] + 1
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1
      reach[most + k] = x
      if (x >= a.length && x - k >= b.length) return walk(trace, a.length, b.length)
    }
    trace.push(reach.slice(most - d, most + d + 1))
  }
  return replaced
}

// Backtracks through the furthest points per number of edits: trace[d] contains the diagonals -d to d.
function walk(trace, x, y) {
  const way = []
  for (let d = trace.length; d > 0; d -= 1) {
    const at = (k) => (Math.abs(k) < d ? trace[d - 1][k + d - 1] : -1)
    const k = x - y
    const down = k === -d || (k !== d && at(k - 1) < at(k + 1))
    const from = down ? k + 1 : k - 1
    for (const start = at(from) + (down ? 0 : 1); x > start; x -= 1) way.push('same')
    way.push(down ? 'new' : 'gone')
    x = at(from)
    y = x - from
  }
  for (; x > 0; x -= 1) way.push('same')
  return way.reverse()
}

// Pairs removed and added lines of one place in one row.
function beside(kinds, a, b) {
  const rows = []
  let [left, right] = [0, 0]
  let gone = []
  let come = []
  const flush = () => {
    for (let i = 0; i < Math.max(gone.length, come.length); i += 1) {
      const kind = gone[i] && come[i] ? 'changed' : gone[i] ? 'gone' : 'new'
      rows.push({kind, left: gone[i] ?? null, right: come[i] ?? null})
    }
    gone = []
    come = []
  }
  for (const kind of kinds) {
    if (kind === 'same') flush()
    const one = kind === 'new' ? null : [left + 1, a[left++]]
    const other = kind === 'gone' ? null : [right + 1, b[right++]]
    if (kind === 'same') rows.push({kind, left: one, right: other})
    else if (one) gone.push(one)
    else come.push(other)
  }
  flush()
  return rows
}
