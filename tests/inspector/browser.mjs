// Chromium with traps: records everything that the page must not do, and `unhurt` fails on it.

import {existsSync} from 'node:fs'
import {createRequire} from 'node:module'
import {createServer} from 'node:net'
import {join} from 'node:path'
import {hold} from './report.mjs'

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--disable-domain-reliability', '--disable-default-apps']

export function findChromium() {
  const given = process.env.CHROMIUM
  if (given && !existsSync(given)) throw new Error(`CHROMIUM names ${given}, which is not a file`)
  const found = given || PLACES.find(existsSync)
  if (!found) throw new Error('Chromium not found: install the Debian package `chromium`, or set CHROMIUM')
  return found
}

export class Browser {
  // Every name except loopback resolves to our own port, so that any request that leaves the page is seen.
  static async launch(modules) {
    const self = new Browser()
    self.modules = modules
    self.reached = []
    self.trap = createServer((socket) => {
      socket.on('error', () => {}).once('data', (bytes) => {
        self.reached.push(bytes.toString('latin1').slice(0, 2000))
        socket.destroy()
      })
    })
    await new Promise((done) => self.trap.listen(0, '127.0.0.1', done))
    const rules = `MAP * 127.0.0.1:${self.trap.address().port}, EXCLUDE 127.0.0.1, EXCLUDE localhost`
    const {chromium} = createRequire(join(modules, 'any.js'))('playwright-core')
    self.chromium = await chromium.launch({executablePath: findChromium(), args: [...FLAGS, `--host-resolver-rules=${rules}`]})
    return self
  }

  axe() {
    return createRequire(join(this.modules, 'any.js')).resolve('axe-core/axe.min.js')
  }

  async end() {
    await this.chromium.close()
    this.trap.close()
  }

  // A page on an inspector URL, with its own storage.
  async open(address, {theme = 'dark', width = 1280, height = 800, hash = '', ...more} = {}) {
    const context = await this.chromium.newContext({colorScheme: theme, viewport: {width, height}, reducedMotion: 'reduce',
      acceptDownloads: true, permissions: ['clipboard-read', 'clipboard-write'], ...more})
    const seen = {pwned: [], dialogs: [], errors: [], console: [], pages: 0, violations: [], strayed: [], requests: []}
    await context.exposeBinding('__pwned', (_, where) => { seen.pwned.push(String(where)) })
    await context.exposeBinding('__violated', ({frame}, what) => { if (!frame.parentFrame()) seen.violations.push(what) })
    await context.addInitScript(() => {
      addEventListener('securitypolicyviolation', (event) => {
        globalThis.__violated(`${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`)
      })
    })
    context.on('page', () => { seen.pages += 1 })
    const page = await context.newPage()
    page.setDefaultTimeout(10_000)
    watch(page, seen, new URL(address))
    await page.goto(address + hash)
    return new Watched(this, context, page, seen, address)
  }
}

function watch(page, seen, own) {
  page.on('dialog', (dialog) => {
    seen.dialogs.push(dialog.message())
    dialog.dismiss().catch(() => {})
  })
  page.on('pageerror', (problem) => seen.errors.push(`${problem.message} ${problem.stack?.split('\n')[1] ?? ''}`))
  page.on('console', (message) => { if (message.type() === 'error') seen.console.push(`${message.text()} ${message.location().url}`) })
  page.on('request', (request) => {
    const url = new URL(request.url())
    const inside = ['data:', 'blob:', 'about:'].includes(url.protocol) || url.host === own.host
    if (!inside && request.frame() === page.mainFrame()) seen.requests.push(request.url())
  })
  page.on('framenavigated', (frame) => {
    if (frame === page.mainFrame() && new URL(frame.url()).host !== own.host) seen.strayed.push(frame.url())
  })
}

class Watched {
  constructor(browser, context, page, seen, address) {
    Object.assign(this, {browser, context, page, seen, address})
  }

  // Fails if anything a server sent became more than text.
  unhurt({frames = false, console = true} = {}) {
    const {seen, browser} = this
    const left = browser.reached.filter((bytes) => bytes.includes('pwned'))
    // A frame that tries to navigate away is blocked by the page's own policy, which reports it.
    const violations = seen.violations.filter((what) => !(frames && what.startsWith('frame-src')))
    const allowed = frames ? /Refused|violates|sandbox|Permissions policy/i : /Refused|violates|sandbox/i
    const lost = console ? seen.console.filter((line) => !line.includes('pwned.invalid') && !allowed.test(line)) : []
    for (const [what, found] of Object.entries({'script ran': seen.pwned, dialogs: seen.dialogs, 'errors of the page': seen.errors,
      'errors in the console': lost, 'policy violations': violations, 'navigated to': seen.strayed, 'requests to others': seen.requests, 'reached another host': left})) {
      hold(found.length === 0, `${what}: ${found.slice(0, 3).join(' | ').slice(0, 400)}`)
    }
    hold(seen.pages === 1, `${seen.pages - 1} more pages were opened`)
  }

  // Navigates within the page and waits for the view.
  async go(hash) {
    const view = /^#\/(\w+)/.exec(hash)[1]
    await this.page.evaluate((to) => { location.hash = to }, hash)
    await this.page.locator(`#rail [data-view="${view}"][aria-current=page]`).waitFor()
    await this.page.locator('#view > h1').getByText(new RegExp(`^${view}$`, 'i')).waitFor({state: 'attached'})
  }

  // Waits until the page has completed the handshake with its target.
  ready() {
    return this.page.locator('#bar').getByText('Ready', {exact: true}).waitFor({timeout: 30_000})
  }

  // Waits until the connection was lost and restored.
  async back() {
    await this.page.locator('#bar').getByText('Ready', {exact: true}).waitFor({state: 'detached'})
    await this.ready()
  }

  // The open dialog, by its title.
  dialog(name) {
    return this.page.getByRole('dialog', {name})
  }

  close() {
    return this.context.close()
  }
}
