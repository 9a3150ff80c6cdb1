// Injection: a server that sends scripts, markup and control characters everywhere changes only text.

import {hold, same} from '../report.mjs'
import {Caller} from '../place.mjs'
import {capture} from './traffic.mjs'

// These exit, hang or ask for input, and are called separately.
const APART = ['never', 'dies', 'asks', 'asks_address', 'asks_model', 'spoken']

// Finds nodes that the page's own code never creates. Runs in the page.
function strange() {
  const found = document.querySelectorAll('base, object, embed, [srcdoc], [onerror], [onload], [onfocus], [ontoggle], [http-equiv=refresh],'
    + '[href*="pwned.invalid"]:not(a), [action], a[href^="javascript:" i], a[href^="data:" i], a[href^="file:" i], img:not([src^="data:"])')
  const sheets = [...document.querySelectorAll('style, link[rel=stylesheet]')].filter((node) => !node.href?.startsWith(location.origin))
  const frames = [...document.querySelectorAll('iframe')].filter((node) => node.getAttribute('sandbox') !== 'allow-scripts')
  const hidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]|[\u{e0000}-\u{e0fff}]/u.exec(document.body.innerText)
  return [...[...found, ...sheets, ...frames].map((node) => node.outerHTML.slice(0, 120)), ...(hidden ? [`U+${hidden[0].codePointAt(0).toString(16)} is in the text`] : []),
    ...(Object.prototype.polluted === undefined ? [] : ['the prototype is polluted'])]
}

async function unchanged(opened, where) {
  same(await opened.page.evaluate(strange), [], `at ${where.slice(0, 80)}`)
  opened.unhurt({frames: true})
}

const run = (page) => page.getByRole('button', {name: 'Run', exact: true})
const outcome = (page) => page.getByRole('status', {name: 'Outcome'})

// Runs the current tool despite warnings and confirmations.
async function force(page) {
  await run(page).click()
  const [anyway, sure] = [page.getByRole('button', {name: 'Send anyway'}), page.getByRole('button', {name: 'Run it'})]
  if (await anyway.isVisible()) await anyway.click()
  if (await sure.isVisible()) await sure.click()
}

async function hostile(world, hash) {
  const opened = await world.page('hostile', hash)
  return {opened, page: opened.page}
}

export default {
  async 'tools, each opened and run'(world) {
    const {opened, page} = await hostile(world, '#/tools')
    await page.getByRole('listbox', {name: 'Tools'}).getByRole('option').first().waitFor()
    await unchanged(opened, 'the list')
    const names = await page.evaluate(async () => {
      const {Client} = await import('./mcp.js')
      const client = new Client()
      client.open({target: JSON.parse(JSON.stringify(sessionStorage.getItem('docent:target')))})
      const tools = await client.list('tools/list', 'tools')
      client.close('done')
      return tools.map(({name}) => name).filter(Boolean)
    })
    hold(names.length > 30, `${names.length} tools`)
    for (const name of names.filter((one) => !APART.includes(one))) {
      await opened.go(`#/tools/${encodeURIComponent(name)}`)
      await run(page).waitFor()
      await unchanged(opened, name)
      await force(page)
      // An unreadable response never arrives.
      await outcome(page).or(page.getByText('Invalid message')).filter({visible: true}).first().waitFor()
      await page.keyboard.press('Escape')
      await outcome(page).waitFor()
      await unchanged(opened, `the answer of ${name}`)
    }
  },

  async 'every tab of a tool'(world) {
    const {opened, page} = await hostile(world, '#/tools/spoken')
    for (const mode of ['Form', 'JSON', 'Both']) {
      await page.getByRole('group', {name: 'Edit as'}).getByRole('button', {name: mode}).click()
      await unchanged(opened, mode)
    }
    await force(page)
    await outcome(page).waitFor()
    await page.getByRole('button', {name: 'Raw'}).click()
    await unchanged(opened, 'the raw result')
    await page.getByRole('button', {name: 'Save call…'}).click()
    await opened.dialog('Save this call').getByLabel('Name').fill('<img src=x onerror=__pwned(1)>')
    await opened.dialog('Save this call').getByRole('button', {name: 'Save'}).click()
    for (const tab of ['Copy as', 'Definition', /^History/]) {
      await page.getByRole('tab', {name: tab}).click()
      await unchanged(opened, String(tab))
    }
  },

  async 'progress, cancelling and a dying server'(world) {
    const {opened, page} = await hostile(world, '#/tools/never')
    await run(page).click()
    await page.getByText('3 of 10').waitFor()
    await unchanged(opened, 'progress')
    await page.getByRole('button', {name: 'Cancel', exact: true}).click()
    await outcome(page).getByText('cancelled').waitFor()
    await opened.go('#/tools/dies')
    await run(page).click()
    await outcome(page).getByText('no response').waitFor()
    await opened.back()
    await unchanged(opened, 'last words')
  },

  async 'dialogs'(world) {
    const {opened, page} = await hostile(world, '#/tools/asks')
    for (const [tool, refuse] of [['asks', 'Decline'], ['asks_address', 'Decline'], ['asks_model', 'Refuse']]) {
      await opened.go(`#/tools/${tool}`)
      await run(page).waitFor()
      await force(page)
      const dialog = page.getByRole('dialog')
      await dialog.waitFor()
      await unchanged(opened, `the dialog of ${tool}`)
      same(await dialog.getByRole('link').count(), 0, `links in the dialog of ${tool}`)
      await dialog.getByRole('button', {name: refuse}).click()
      await outcome(page).waitFor()
    }
    await page.getByRole('button', {name: 'About the server'}).click()
    await page.getByRole('heading', {name: 'Instructions'}).waitFor()
    await unchanged(opened, 'about the server')
    await page.keyboard.press('Escape')
  },

  async 'resources, templates and prompts'(world) {
    const {opened, page} = await hostile(world, '#/resources')
    const list = (name) => page.getByRole('listbox', {name, exact: true}).getByRole('option')
    await list('Resources').first().waitFor()
    for (let at = 0; at < await list('Resources').count(); at += 1) {
      await list('Resources').nth(at).click()
      await page.waitForFunction(() => document.querySelector('#view [aria-busy=true]') === null)
      await unchanged(opened, `resource ${at}`)
      const field = page.locator('#view').getByRole('combobox').first()
      if (await field.isVisible() && await page.getByRole('button', {name: 'Read', exact: true}).isVisible()) {
        await field.fill('x')
        await page.getByRole('listbox', {name: /^Values for/}).first().waitFor()
        await unchanged(opened, 'completions')
      }
    }
    await opened.go('#/prompts')
    await list('Prompts').first().click()
    await page.getByRole('button', {name: 'Get messages'}).click()
    await page.getByRole('heading', {name: /messages$/}).waitFor()
    await unchanged(opened, 'messages of a prompt')
  },

  async 'traffic, errors and health'(world) {
    const opened = await world.page('serve', '#/traffic?')
    const {page} = opened
    await capture(page, true)
    const {mcp} = await world.target('serve')
    const client = await new Caller(mcp, '<img src=x onerror="__pwned(1)"> caller').open()
    for (const name of ['fails', 'fails_oddly', 'fails_politely', 'noise', 'logs', 'kinds', 'wrong', 'empty']) {
      await client.request('tools/call', {name: `hostile__${name}`, arguments: {text: '<script>__pwned(2)</script>'}})
    }
    const rows = page.getByRole('grid', {name: 'Messages'}).getByRole('row').filter({hasText: 'hostile__'})
    await rows.filter({hasText: 'empty'}).first().waitFor()
    await unchanged(opened, 'traffic')
    for (let at = 0; at < Math.min(12, await rows.count()); at += 1) {
      await rows.nth(at).click()
      await page.locator('.tr-detail .tree, .tr-detail pre').first().waitFor()
      await unchanged(opened, `message ${at}`)
    }
    await opened.go('#/errors')
    const errors = page.getByRole('listbox', {name: 'Errors'}).getByRole('option')
    await errors.first().waitFor()
    for (let at = 0; at < Math.min(6, await errors.count()); at += 1) {
      await errors.nth(at).click()
      await page.getByRole('heading', {name: 'Audit entry'}).waitFor()
      await unchanged(opened, `error ${at}`)
    }
    await opened.go('#/health')
    await page.getByText(/^stderr \(/).first().waitFor()
    for (const one of await page.getByText(/^stderr \(/).all()) await one.click()
    await unchanged(opened, 'health')
  },

  async 'a recording'(world) {
    const opened = await world.page('serve', '#/traffic?')
    const {page} = opened
    const line = {seq: 1, at: 'x', kind: 'request', hop: 'client', direction: 'in', peer: '<img src=x onerror=__pwned(1)>', method: '"><svg onload=__pwned(2)>',
      target: '\u202egnp', id: {a: '<b>'}, era: '<script>', via: [], text: '</script><script>__pwned(3)</script>', payload: '{"__proto__": {"polluted": 1}, "<b>": "<i>"}'}
    const other = {...line, seq: 2, kind: 'error', answers: 1, code: 'x', payload: '<b>no JSON</b>'}
    const lines = [line, other, {seq: 'x'}, null, 7, []].map((one) => JSON.stringify(one)).join('\n')
    await page.getByLabel('Open a recording').setInputFiles({name: '<img src=x onerror=__pwned(4)>.jsonl', mimeType: 'text/plain', buffer: Buffer.from(lines)})
    await page.getByText('4 invalid lines skipped').waitFor()
    await unchanged(opened, 'the recording')
    for (const row of await page.getByRole('grid', {name: 'Messages'}).getByRole('row').filter({hasText: 'svg'}).all()) {
      await row.click()
      await unchanged(opened, 'a message of the recording')
    }
    await page.getByRole('button', {name: 'Back to live traffic'}).click()
  },

  async 'a tool that nests too deep does not hide others'(world) {
    const started = await world.place.inspect('--', ...world.place.scripted('hostile.mjs', 'deep'))
    const opened = await world.open(started, {hash: '#/tools/nested'})
    const tools = opened.page.getByRole('listbox', {name: 'Tools'}).getByRole('option')
    await tools.filter({hasText: 'polluting'}).waitFor()
    await run(opened.page).waitFor()
    await unchanged(opened, 'the tool')
    await opened.close()
    await world.place.stop(started)
  },

  async 'a missing list is reported with the output that came instead'(world) {
    const started = await world.place.inspect('--', ...world.place.scripted('hostile.mjs', 'unreadable'))
    const opened = await world.open(started, {hash: '#/tools'})
    await opened.page.getByText('The server has not responded to tools/list yet.').waitFor()
    await opened.page.getByText('<b>tools</b>').waitFor()
    await unchanged(opened, 'the list')
    await opened.close()
    await world.place.stop(started)
  },
}
