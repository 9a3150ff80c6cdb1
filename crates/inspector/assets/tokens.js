// Estimates the token count of a text, exactly as `docent tools --tokens` does (crates/hub/src/tokens.rs).

const LOWER = 10
const DIGIT = 3
const MARK = 4

// Letters, digits and marks are counted by runs; a kind is its run length per token, and a negative sign marks
// upper case.
function kindOf(code) {
  if (code >= 97 && code <= 122) return LOWER
  if (code >= 65 && code <= 90) return -LOWER
  if (code >= 48 && code <= 57) return DIGIT
  return code < 128 ? MARK : 1
}

// The estimated number of tokens in a text.
export function estimate(text) {
  let total = 0
  let open = 0
  let length = 0
  for (const character of text) {
    const code = character.codePointAt(0)
    const spaced = code === 32 || code === 9 || code === 10 || code === 12 || code === 13
    const kind = kindOf(code)
    // A capital begins the hump that follows it.
    if (length && !spaced && (kind === open || (open === -LOWER && length === 1 && kind === LOWER))) {
      open = kind
      length += 1
      continue
    }
    if (length) total += Math.ceil(length / Math.abs(open))
    // A space belongs to the word after it; other white space counts.
    if (spaced && code !== 32) total += 1
    open = kind
    length = spaced ? 0 : 1
  }
  return length ? total + Math.ceil(length / Math.abs(open)) : total
}

// The token cost of a definition, as a client receives it.
export const cost = (definition) => estimate(JSON.stringify(definition) ?? '')
