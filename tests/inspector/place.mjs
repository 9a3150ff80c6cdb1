// A folder with a home, a project and a configuration, and the docent processes that run in it. Everything is
// removed at exit: no process and no file remains.

import {spawn} from 'node:child_process'
import {mkdtempSync, mkdirSync, realpathSync, rmSync, writeFileSync} from 'node:fs'
import {createServer} from 'node:net'
import {tmpdir} from 'node:os'
import {dirname, join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {until} from './report.mjs'

const HERE = dirname(fileURLToPath(import.meta.url))
const START_LIMIT = 60_000
const ADDRESS = /http:\/\/(?:127\.0\.0\.1|localhost|\[::1\]):\d+\/inspector\/[^\s"']+/

// The fixture project: enough content for search, analysis and documentation.
const PROJECT = {
  'README.md': '# Fixture\n\nA small project. It keeps a [ledger](docs/ledger.md) of accounts.\n',
  'docs/ledger.md': '# Ledger\n\n## Posting\n\nA posting moves an amount from one account to another.\n\n'
    + '## Balance\n\nThe balance of an account is the sum of its postings.\n',
  'docs/errors.md': '# Errors\n\nAn overdrawn account refuses a posting and says by how much.\n',
  'src/ledger.py': '"""Accounts and postings."""\n\nfrom src import money\n\n\nclass Ledger:\n    """Keeps postings in order."""\n\n'
    + '    def __init__(self):\n        self.postings = []\n\n    def post(self, source, target, amount):\n'
    + '        """Moves an amount from one account to another."""\n        if amount <= 0:\n'
    + '            raise ValueError("an amount is positive")\n        self.postings.append((source, target, money.rounded(amount)))\n\n'
    + '    def balance(self, account):\n        """The sum of all postings of an account."""\n        total = 0\n'
    + '        for source, target, amount in self.postings:\n            total += amount if target == account else 0\n'
    + '            total -= amount if source == account else 0\n        return total\n',
  'src/money.py': '"""Amounts of money."""\n\n\ndef rounded(amount):\n    """To the nearest hundredth."""\n    return round(amount, 2)\n',
  'src/report.py': '"""Prints a ledger."""\n\nfrom src import ledger, money\n\n\ndef table(book: ledger.Ledger) -> str:\n'
    + '    """One line for each posting."""\n    return "\\n".join(f"{a} {b} {money.rounded(c)}" for a, b, c in book.postings)\n',
  'web/app.ts': 'import {format} from \'./format\'\n\nexport function show(amount: number): string {\n  return format(amount)\n}\n',
  'web/format.ts': 'export const format = (amount: number): string => amount.toFixed(2)\n',
  'package.json': '{"name": "fixture", "dependencies": {"left-pad": "1.3.0"}}\n',
}

export class Place {
  constructor({docent, modules, node = process.execPath}) {
    this.docent = realpathSync(docent)
    this.modules = realpathSync(modules)
    this.node = node
    this.folder = mkdtempSync(join(tmpdir(), 'docent-inspector-'))
    this.home = this.make('home')
    this.root = this.make('project')
    this.children = []
    for (const [name, text] of Object.entries(PROJECT)) this.write(join('project', name), text)
    // The sandbox may not allow the installation folders by default.
    const opened = [this.modules, dirname(this.modules), HERE, realpathSync(HERE), dirname(realpathSync(this.node)), this.folder]
    this.write('home/.config/docent/docent.toml', `[policy.sandbox]\nread = ${JSON.stringify([...new Set(opened)])}\n`)
  }

  make(...parts) {
    const path = join(this.folder, ...parts)
    mkdirSync(path, {recursive: true})
    return path
  }

  write(name, text) {
    const path = join(this.folder, name)
    mkdirSync(dirname(path), {recursive: true})
    writeFileSync(path, text)
    return path
  }

  get everything() {
    return [this.node, join(this.modules, '@modelcontextprotocol/server-everything/dist/index.js')]
  }

  scripted(name, ...more) {
    return [this.node, join(HERE, 'servers', name), ...more]
  }

  // A configuration with these servers, each given as a command line.
  configuration(servers, more = '') {
    const lines = [more, '[hub]', 'exposure = "direct"']
    for (const [name, [command, ...args]] of Object.entries(servers)) {
      lines.push(`[mcp_servers.${name}]`, `command = ${JSON.stringify(command)}`, `args = ${JSON.stringify(args)}`)
    }
    return this.write('docent.toml', `${lines.join('\n')}\n`)
  }

  // Isolated from the user's files.
  environment() {
    const kept = Object.fromEntries(['PATH', 'LANG', 'TMPDIR'].filter((key) => process.env[key]).map((key) => [key, process.env[key]]))
    return {...kept, HOME: this.home, NO_COLOR: '1'}
  }

  // Starts docent and waits until it prints the inspector's URL.
  async start(args) {
    const child = spawn(this.docent, args, {cwd: this.root, env: this.environment(), stdio: ['ignore', 'pipe', 'pipe'], detached: true})
    this.children.push(child)
    const run = {child, said: '', exited: new Promise((done) => child.on('exit', done))}
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => { run.said += bytes })
    child.on('error', (problem) => { run.said += problem.message })
    const address = () => ADDRESS.exec(run.said)?.[0]
    const ended = () => child.exitCode !== null || child.pid === undefined
    await until(() => address() || ended(), `the address of docent ${args[0]}`, START_LIMIT)
    if (!address()) throw new Error(`docent ${args[0]} ended with ${child.exitCode}: ${run.said.slice(-600)}`)
    return Object.assign(run, {address: address()})
  }

  // `docent inspect` on a target, given as command-line arguments.
  inspect(...target) {
    return this.start(['inspect', '--no-open', ...target])
  }

  async serve({port, config, more = []}) {
    const chosen = port ?? await freePort()
    const args = ['serve', '--transport', 'http', '--port', String(chosen), '--root', this.root, '--rate-limit', '0', '--config', config, ...more]
    const run = await this.start(args)
    return Object.assign(run, {port: chosen, mcp: `http://127.0.0.1:${chosen}/mcp`})
  }

  // Asks it to exit, and waits.
  async stop(run) {
    run.child.kill('SIGTERM')
    const timer = setTimeout(() => kill(run.child), 8000)
    await run.exited
    clearTimeout(timer)
  }

  end() {
    for (const child of this.children) kill(child)
    rmSync(this.folder, {recursive: true, force: true, maxRetries: 5})
  }
}

// Kills the process group, so that no downstream server remains.
function kill(child) {
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    // Already exited.
  }
}

export function freePort() {
  return new Promise((done) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const {port} = server.address()
      server.close(() => done(port))
    })
  })
}

// An MCP client over Streamable HTTP, for traffic from outside the page.
export class Caller {
  constructor(url, name = 'caller') {
    Object.assign(this, {url, name, id: 0, session: undefined})
  }

  async open() {
    const clientInfo = {name: this.name, version: '1'}
    await this.request('initialize', {protocolVersion: '2025-11-25', capabilities: {}, clientInfo})
    await this.post({method: 'notifications/initialized'})
    return this
  }

  async request(method, params) {
    this.id += 1
    const text = await this.post({id: this.id, method, params})
    const lines = text.split('\n').filter((line) => line.startsWith('data:')).map((line) => line.slice(5))
    const messages = (lines.length ? lines : [text]).filter((line) => line.trim()).map((line) => JSON.parse(line))
    return messages.find((message) => message.id === this.id)
  }

  async post(message) {
    const headers = {'content-type': 'application/json', accept: 'application/json, text/event-stream'}
    if (this.session) Object.assign(headers, {'mcp-session-id': this.session, 'mcp-protocol-version': '2025-11-25'})
    const answer = await fetch(this.url, {method: 'POST', headers, body: JSON.stringify({jsonrpc: '2.0', ...message})})
    this.session ??= answer.headers.get('mcp-session-id') ?? undefined
    return answer.text()
  }
}
