// Traffic: both hops of calls through `docent serve`, filters, recordings, replay.

import {readFileSync} from 'node:fs'
import {hold, same, until} from '../report.mjs'
import {Caller} from '../place.mjs'

const SECRET = 'ghp_16C7e42F292c6912E7710c838347Ae178B4a'
const MANY = 10_000

const rows = (page) => page.getByRole('grid', {name: 'Messages'}).getByRole('row')
const label = (page, name) => page.getByLabel(name, {exact: true})

/** Turns capture on, and payloads on or off. */
export async function capture(page, payloads) {
  await page.getByRole('switch', {name: 'Capture'}).setChecked(true)
  await page.getByRole('switch', {name: 'Payloads'}).setChecked(payloads)
  await page.getByText(payloads ? 'with their payloads' : 'without payloads').waitFor()
}

// The shared page on Traffic, with capture on and no filter.
async function traffic(world, payloads = true) {
  const opened = await world.page('serve', '#/traffic?')
  await capture(opened.page, payloads)
  return opened
}

// A client of docent, identified by its name.
async function caller(world, name) {
  const {mcp} = await world.target('serve')
  return new Caller(mcp, name).open()
}

// The request of a client: neither a response nor docent's request to a server.
const request = (page, tool) => rows(page).filter({hasText: tool}).filter({hasNotText: /response|error|\d → \d/i}).first()

const callTool = (client, name, args) => client.request('tools/call', {name, arguments: args})

export default {
  async 'is off until it is turned on'(world) {
    const run = await world.place.serve({config: world.place.write('plain.toml', '')})
    const opened = await world.open(run, {hash: '#/traffic'})
    const {page} = opened
    await page.getByText('Capture is off. Turn it on above').waitFor()
    await new Caller(run.mcp, 'unseen').open().then((client) => client.request('tools/list', {}))
    await capture(page, false)
    await new Caller(run.mcp, 'seen').open()
    await rows(page).filter({hasText: 'seen'}).first().waitFor()
    same(await rows(page).filter({hasText: 'unseen'}).count(), 0, 'messages from before')
    opened.unhurt()
    await opened.close()
    await world.place.stop(run)
  },

  async 'shows both hops of a call with their ids'(world) {
    const {page} = await traffic(world)
    const client = await caller(world, 'two-hops')
    await callTool(client, 'everything__get-sum', {a: 2, b: 40})
    await label(page, 'Client').selectOption('two-hops')
    await label(page, 'Method').fill('tools/call')
    const call = rows(page).filter({hasText: 'everything__get-sum'})
    await call.first().waitFor()
    const texts = (await rows(page).allInnerTexts()).slice(1).map((text) => text.replace(/\s+/g, ' '))
    same(texts.length, 4, `messages of the call (${texts.join(' | ')})`)
    const mapped = texts.filter((text) => new RegExp(`\\b${client.id} → \\d+`).test(text))
    same(mapped.length, 2, `messages with both ids (${texts.join(' | ')})`)
    hold(texts.some((text) => /\d (ms|µs|s).*\+\d/.test(text)), `no time that docent added: ${texts.join(' | ')}`)
    hold(texts.some((text) => text.includes('2025-11-25')), 'no revision')
  },

  async 'draws a call and shows its payload'(world) {
    const {page} = await traffic(world)
    const client = await caller(world, 'drawn')
    await callTool(client, 'everything__echo', {message: 'a payload to see'})
    await label(page, 'Client').selectOption('drawn')
    await request(page, 'everything__echo').click()
    await page.getByRole('heading', {name: /tools\/call/}).waitFor()
    await page.locator('.tr-detail').getByText('a payload to see').first().waitFor()
    const drawing = page.getByRole('group', {name: 'Call sequence'})
    await drawing.getByText(/everything/).first().waitFor()
    hold((await page.locator('.tr-detail table').innerText()).includes('drawn'), 'the fields do not name the client')
  },

  async 'filters by server, id, error and text'(world) {
    const {page} = await traffic(world)
    const client = await caller(world, 'filtered')
    await callTool(client, 'everything__echo', {message: 'needle in a payload'})
    await callTool(client, 'everything__get-sum', {a: 'no number'})
    const {id} = client
    // The page redraws shortly after a filter is set.
    const left = async (name, act, is) => {
      await page.getByRole('button', {name: 'Pair calls'}).evaluate((node) => node.getAttribute('aria-pressed') === 'true' && node.click())
      await act()
      await until(async () => {
        const seen = (await rows(page).allInnerTexts()).slice(1)
        return seen.length > 0 && is(seen)
      }, `the rows for ${name} alone`)
    }
    await label(page, 'Client').selectOption('filtered')
    await left('server', () => label(page, 'Server').selectOption('everything'), (seen) => seen.every((text) => text.includes('everything')))
    await label(page, 'Server').selectOption('')
    await left('id', () => label(page, 'Id').fill(String(id)), (seen) => seen.length === 2)
    await label(page, 'Id').fill('')
    await left('errors', () => label(page, 'Errors only').check(), (seen) => seen.every((text) => /error|isError/.test(text)))
    await label(page, 'Errors only').uncheck()
    await left('text', () => label(page, 'Text ( / )').fill('get-sum'), (seen) => seen.every((text) => text.includes('get-sum')))
    hold(page.url().includes('text=get-sum'), 'the URL does not contain the filter')
    await page.reload()
    await rows(page).filter({hasText: 'get-sum'}).first().waitFor()
    same(await label(page, 'Text ( / )').inputValue(), 'get-sum', 'filter after a reload')
    await page.getByRole('button', {name: 'Pair calls'}).click()
  },

  async 'pauses and follows'(world) {
    const {page} = await traffic(world)
    const client = await caller(world, 'paused')
    await label(page, 'Client').selectOption('paused')
    await rows(page).filter({hasText: 'initialize'}).first().waitFor()
    await page.locator('#view').focus()
    await page.keyboard.press('p')
    await callTool(client, 'everything__echo', {message: 'unseen'})
    await page.getByText(/paused, [1-9]\d* new/).waitFor()
    same(await rows(page).filter({hasText: 'everything__echo'}).count(), 0, 'rows while paused')
    await page.getByRole('button', {name: 'Pause'}).click()
    await rows(page).filter({hasText: 'everything__echo'}).first().waitFor()
    await label(page, 'Client').selectOption('')
    await page.getByRole('button', {name: 'Follow'}).evaluate((node) => node.getAttribute('aria-pressed') === 'false' && node.click())
    await until(() => page.getByRole('grid', {name: 'Messages'}).evaluate((node) => node.scrollHeight - node.clientHeight - node.scrollTop < 60), 'the end')
  },

  async 'exports a recording and opens it again'(world) {
    const {page} = await traffic(world)
    const client = await caller(world, 'recorded')
    await callTool(client, 'everything__echo', {message: 'kept on tape'})
    await label(page, 'Client').selectOption('recorded')
    await label(page, 'Method').fill('tools/call')
    await rows(page).filter({hasText: 'everything__echo'}).first().waitFor()
    const waiting = page.waitForEvent('download')
    await page.getByRole('button', {name: 'Export'}).click()
    const file = await (await waiting).path()
    const lines = readFileSync(file, 'utf8').trim().split('\n').map((line) => JSON.parse(line))
    same(lines.length, 4, 'exported messages')
    hold(lines.some((line) => line.payload?.includes('kept on tape')), 'no payload is exported')
    hold(lines.every((line) => line.seq && line.hop && line.kind), 'a line is not an entry')
    await label(page, 'Open a recording').setInputFiles({name: 'tape.jsonl', mimeType: 'application/jsonl', buffer: Buffer.from(`${readFileSync(file)}not JSON\n`)})
    await page.getByText('Recording tape.jsonl').waitFor()
    await page.getByText('1 invalid lines skipped').waitFor()
    await label(page, 'Client').selectOption('')
    await label(page, 'Method').fill('')
    await until(async () => await rows(page).count() === 5, 'four rows of the recording')
    await request(page, 'everything__echo').click()
    await page.locator('.tr-detail').getByText('kept on tape').first().waitFor()
    await page.getByRole('button', {name: 'Back to live traffic'}).click()
    await page.getByRole('switch', {name: 'Capture'}).waitFor()
  },

  async 'replays a request after confirmation'(world) {
    const {page} = await traffic(world)
    const client = await caller(world, 'replayed')
    await callTool(client, 'everything__get-sum', {a: 20, b: 22})
    await label(page, 'Client').selectOption('replayed')
    await request(page, 'everything__get-sum').click()
    await page.getByRole('button', {name: 'Replay'}).click()
    const dialog = page.getByRole('dialog', {name: 'Replay this request?'})
    await dialog.getByText('everything__get-sum').waitFor()
    await dialog.getByRole('button', {name: 'Send'}).click()
    const answer = page.getByRole('dialog', {name: 'Response'})
    await answer.getByText('The sum of 20 and 22 is 42.').waitFor()
    await answer.getByRole('button', {name: 'Close'}).click()
  },

  async 'stores no payload without consent'(world) {
    const {page} = await traffic(world, false)
    const client = await caller(world, 'outlined')
    await callTool(client, 'everything__echo', {message: 'never to be kept'})
    await label(page, 'Client').selectOption('outlined')
    await request(page, 'everything__echo').click()
    await page.locator('.tr-detail').getByText('Not captured. Turn on Payloads').waitFor()
    same(await page.getByText('never to be kept').count(), 0, 'payloads shown')
  },

  async 'never shows a secret'(world) {
    const {page} = await traffic(world)
    const client = await caller(world, 'secretive')
    await callTool(client, 'everything__echo', {message: `token ${SECRET} of mine`})
    await label(page, 'Client').selectOption('secretive')
    await label(page, 'Method').fill('tools/call')
    const all = rows(page).filter({hasText: 'everything__echo'})
    await all.first().waitFor()
    for (let at = 1; at < await rows(page).count(); at += 1) {
      await rows(page).nth(at).click()
      await page.locator('.tr-detail').getByText('[redacted').first().waitFor()
      hold(!(await page.content()).includes(SECRET), `row ${at} shows it`)
    }
  },

  async 'scrolls ten thousand messages'(world) {
    const {page} = await traffic(world, false)
    await label(page, 'Open a recording').setInputFiles({name: 'long.jsonl', mimeType: 'application/jsonl', buffer: Buffer.from(long(MANY))})
    await page.getByText(`${MANY} of ${MANY}`).waitFor()
    const {tasks, blank, drawn} = await page.getByRole('grid', {name: 'Messages'}).evaluate(scroll)
    hold(blank === 0, `${blank} positions had no rows`)
    hold(drawn < 200, `${drawn} rows are in the page at once`)
    // Timing belongs in a benchmark: a busy machine would fail here.
    process.stdout.write(`note: ${tasks} tasks of the page took longer than 200 ms while ${MANY} messages scrolled\n`)
    await label(page, 'Text ( / )').fill('tool-77')
    await page.getByText(new RegExp(`^\\d+ of ${MANY}`)).waitFor()
    await page.getByRole('button', {name: 'Back to live traffic'}).click()
  },
}

// A recording of calls through docent: four messages each.
function long(many) {
  const lines = Array.from({length: many}, (_, at) => {
    const [call, step] = [Math.floor(at / 4), at % 4]
    const base = call * 4 + 1
    const server = step === 1 || step === 2
    return JSON.stringify({seq: at + 1, at: 1_780_000_000_000_000 + at * 900, connection: server ? 2 : 1, peer: server ? 'everything' : 'agent',
      hop: server ? 'server' : 'client', via: server ? 'pipes' : 'http', direction: step === 0 || step === 2 ? 'in' : 'out',
      kind: step < 2 ? 'request' : call % 50 === 0 ? 'error' : 'response', method: 'tools/call', target: `tool-${call % 100}`, id: server ? call + 7 : call,
      parent: server ? base : null, answers: step === 2 ? base + 1 : step === 3 ? base : null, micros: step > 1 ? 900 : null, bytes: 100 + at % 5000,
      code: step > 1 && call % 50 === 0 ? -32603 : null, era: '2025-11-25'})
  })
  return lines.join('\n')
}

// Scrolls from end to end, a screen at a time. Runs in the page.
async function scroll(grid) {
  let tasks = 0
  const watched = new PerformanceObserver((list) => { tasks += list.getEntries().filter((entry) => entry.duration > 200).length })
  watched.observe({entryTypes: ['longtask']})
  const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
  let [blank, drawn] = [0, 0]
  grid.scrollTop = 0
  for (let step = 0; step < 40; step += 1) {
    await frame()
    const box = grid.getBoundingClientRect()
    const shown = document.elementFromPoint(box.left + 40, box.top + box.height / 2)?.closest('[role=row]')
    if (!shown) blank += 1
    drawn = Math.max(drawn, grid.querySelectorAll('[role=row]').length)
    grid.scrollTop += grid.scrollHeight / 40
  }
  watched.disconnect()
  return {tasks, blank, drawn}
}
