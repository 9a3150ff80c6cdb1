// Opens docent's inspector and the official one on server-everything, and measures time, bytes loaded and
// memory. Prints `sample {…}` lines, which `cargo xtask bench inspector` turns into tables.
//
//   node measure.mjs --docent PATH --modules DIR [--openings N] [--official SCRIPT]

import {spawn} from 'node:child_process'
import {readFileSync, readdirSync} from 'node:fs'
import {parseArgs} from 'node:util'
import {Browser} from './browser.mjs'
import {freePort, Place} from './place.mjs'
import {until} from './report.mjs'

const OURS = 'docent inspect'
const OFFICIAL = 'official inspector'
const VIEWS = ['tools', 'resources', 'prompts', 'search', 'repository', 'traffic', 'errors', 'health']
// The capacity of the ring buffer.
const MESSAGES = 10_000
const AT_ONCE = 50
const OFFICIAL_UP = /running at:\s+(http:\/\/\S+)/

const {values} = parseArgs({options: {docent: {type: 'string'}, modules: {type: 'string'}, openings: {type: 'string', default: '5'},
  official: {type: 'string'}}})

function sample(section, measure, subject, value) {
  process.stdout.write(`sample ${JSON.stringify({section, measure, subject, value})}\n`)
}

// RSS and PSS of a process and its descendants except the inspected server, in MB.
function memory(pid, left) {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map((name) => {
    try {
      const parent = Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${name}/status`, 'utf8'))[1])
      return {pid: Number(name), parent, command: readFileSync(`/proc/${name}/cmdline`, 'utf8')}
    } catch {
      return null
    }
  }).filter(Boolean)
  const family = new Set([pid])
  for (let size = 0; size < family.size;) {
    size = family.size
    for (const one of all) if (family.has(one.parent)) family.add(one.pid)
  }
  const sums = {rss: 0, pss: 0}
  // A wrapper has the server's command among its arguments, but does not begin with an interpreter.
  const isServer = ({command}) => command.split('\0').slice(0, 2).some((word) => word.endsWith(left))
  for (const one of all.filter((some) => family.has(some.pid) && !isServer(some))) {
    try {
      const rollup = readFileSync(`/proc/${one.pid}/smaps_rollup`, 'utf8')
      for (const kind of ['rss', 'pss']) sums[kind] += Number(new RegExp(`^${kind}:\\s+(\\d+)`, 'im').exec(rollup)[1]) * 1024 / 1e6
    } catch {
      // The process has exited.
    }
  }
  return sums
}

// Sums the compressed body sizes of everything a page loads.
function weigh(page) {
  const waiting = []
  page.on('requestfinished', (request) => waiting.push(request.sizes().then((sizes) => [request.url(), sizes.responseBodySize])))
  return async (wanted = () => true) => (await Promise.all(waiting)).filter(([url]) => wanted(url)).reduce((sum, [, size]) => sum + size, 0) / 1000
}

const painted = (page) => page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0)

async function openOurs(place, browser, first) {
  const began = performance.now()
  const run = await place.inspect('--', ...place.everything)
  sample('Page', 'start to the printed address (ms)', OURS, performance.now() - began)
  const context = await browser.chromium.newContext()
  const page = await context.newPage()
  const weighed = weigh(page)
  const opened = performance.now()
  await page.goto(run.address, {waitUntil: 'commit'})
  await page.getByRole('option', {name: /echo/i}).first().waitFor()
  sample('Page', 'usable after opening (ms)', OURS, performance.now() - opened)
  sample('Page', 'from start to usable (ms)', OURS, performance.now() - began)
  sample('Page', 'first contentful paint (ms)', OURS, await painted(page))
  sample('Page', 'loaded until usable (kB)', OURS, await weighed())
  if (first) {
    for (const view of VIEWS) {
      await page.evaluate((to) => { location.hash = `#/${to}` }, view)
      await page.locator(`nav a[data-view=${view}][aria-current]`).waitFor()
      await page.waitForLoadState('networkidle')
    }
    sample('Page', 'files of the page (kB)', OURS, await weighed((url) => !url.includes('/api/')))
    remember(OURS, run.child.pid, 'server-everything/dist/index.js', 'page open')
    await fill(page)
    remember(OURS, run.child.pid, 'server-everything/dist/index.js', `page open, ${MESSAGES} messages`)
  }
  await context.close()
  await place.stop(run)
}

function remember(subject, pid, left, when) {
  const {rss, pss} = memory(pid, left)
  sample('Memory', `RSS, ${when} (MB)`, subject, rss)
  sample('Memory', `PSS, ${when} (MB)`, subject, pss)
}

// Fills the ring buffer through the page's own socket, payloads included.
async function fill(page) {
  await page.evaluate(async ([messages, atOnce]) => {
    const url = (path) => new URL(path, document.baseURI)
    await fetch(url('api/capture'), {method: 'POST', headers: {'content-type': 'application/json'}, body: '{"on":true,"payloads":true}'})
    const address = url('line')
    address.protocol = 'ws:'
    const {targets} = await (await fetch(url('api/about'))).json()
    address.search = new URLSearchParams({target: targets[0].name, agreed: '1'})
    const socket = new WebSocket(address)
    await new Promise((done) => { socket.onopen = done })
    let [sent, answered] = [0, 0]
    const send = (method, params) => socket.send(JSON.stringify({jsonrpc: '2.0', id: (sent += 1), method, params}))
    send('initialize', {protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {name: 'filler', version: '1'}})
    await new Promise((done) => {
      socket.onmessage = () => {
        answered += 1
        if (answered === 1) socket.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
        if (answered >= messages / 2) return done()
        while (sent < answered + atOnce) send('tools/call', {name: 'echo', arguments: {message: `message number ${sent}`}})
      }
    })
    socket.close()
  }, [MESSAGES, AT_ONCE])
}

async function openOfficial(place, browser, script, first) {
  const [port, other] = [await freePort(), await freePort()]
  const env = {...place.environment(), MCP_AUTO_OPEN_ENABLED: 'false', CLIENT_PORT: String(port), SERVER_PORT: String(other),
    MCP_INSPECTOR_SECRET_STORE: 'memory'}
  const began = performance.now()
  const child = spawn(place.node, [script, '--web', '--', ...place.everything], {env, cwd: place.root, stdio: ['ignore', 'pipe', 'pipe'], detached: true})
  place.children.push(child)
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => { said += bytes })
  await until(() => OFFICIAL_UP.test(said), 'the address of the official inspector', 60_000)
  sample('Page', 'start to the printed address (ms)', OFFICIAL, performance.now() - began)
  const context = await browser.chromium.newContext()
  const page = await context.newPage()
  const weighed = weigh(page)
  const opened = performance.now()
  await page.goto(OFFICIAL_UP.exec(said)[1], {waitUntil: 'commit'})
  // Connecting and choosing a list are manual steps there.
  await page.getByRole('switch').first().click({force: true})
  await page.getByText('Tools', {exact: true}).first().click()
  await page.getByText(/\becho\b/i).first().waitFor()
  sample('Page', 'usable after opening (ms)', OFFICIAL, performance.now() - opened)
  sample('Page', 'from start to usable (ms)', OFFICIAL, performance.now() - began)
  sample('Page', 'first contentful paint (ms)', OFFICIAL, await painted(page))
  sample('Page', 'loaded until usable (kB)', OFFICIAL, await weighed())
  if (first) remember(OFFICIAL, child.pid, 'server-everything/dist/index.js', 'page open')
  await context.close()
  process.kill(-child.pid, 'SIGKILL')
}

const place = new Place({docent: values.docent, modules: values.modules})
const browser = await Browser.launch(values.modules)
try {
  process.stdout.write(`version Chromium ${browser.chromium.version()}\n`)
  for (let round = 0; round < Number(values.openings); round += 1) {
    await openOurs(place, browser, round === 0)
    if (values.official) await openOfficial(place, browser, values.official, round === 0)
  }
} finally {
  await browser.end()
  place.end()
}
