// Named checks: each prints `ok NAME` or `FAIL NAME: expected and actual values`, like the other test programs.

const LIMIT = 60_000

export class Report {
  constructor(word) {
    this.word = word
    this.passed = 0
    this.failed = 0
  }

  wants(name) {
    return !this.word || name.includes(this.word)
  }

  // Runs one check; an exception is its failure, and the next one runs.
  async check(name, body) {
    if (!this.wants(name)) return
    let timer
    const late = new Promise((_, failed) => {
      timer = setTimeout(() => failed(new Error(`not done after ${LIMIT / 1000} s`)), LIMIT)
    })
    try {
      await Promise.race([body(), late])
      this.passed += 1
      process.stdout.write(`ok ${name}\n`)
    } catch (problem) {
      this.failed += 1
      process.stdout.write(`FAIL ${name}: ${describe(problem)}\n`)
    } finally {
      clearTimeout(timer)
    }
  }

  end() {
    process.stdout.write(`${this.passed} passed, ${this.failed} failed\n`)
    return this.failed === 0
  }
}

// The message and its source location, on one line.
function describe(problem) {
  const text = String(problem?.message ?? problem).replace(/\u001b\[[0-9;]*m/g, '').replace(/\s+/g, ' ').slice(0, 600)
  const line = /tests\/inspector\/(?!report)([\w/.-]+:\d+)/.exec(problem?.stack ?? '')
  return line ? `${text} (${line[1]})` : text
}

// Fails unless the condition is true; the reason describes the actual value.
export function hold(holds, reason) {
  if (!holds) throw new Error(typeof reason === 'string' ? reason : JSON.stringify(reason))
}

export function same(found, expected, what = 'value') {
  const [a, b] = [JSON.stringify(found), JSON.stringify(expected)]
  hold(a === b, `${what}: expected ${b}, got ${a}`)
}

// Waits until an external condition is true, and returns its value.
export async function until(holds, what, limit = 15_000) {
  const end = Date.now() + limit
  for (;;) {
    const value = await holds()
    if (value) return value
    if (Date.now() > end) throw new Error(`timed out after ${limit / 1000} s waiting for ${what}`)
    await new Promise((done) => setTimeout(done, 25))
  }
}
