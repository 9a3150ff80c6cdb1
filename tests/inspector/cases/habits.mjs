// Everyday use: keys, links, themes, widths, reloads, reconnection, empty pages.

import {hold, same, until} from '../report.mjs'
import {freePort} from '../place.mjs'

const VIEWS = {tools: 't', resources: 'r', prompts: 'p', search: 's', repository: 'o', traffic: 'f', errors: 'e', health: 'h'}

const current = (page) => page.locator('#rail [aria-current=page]').getAttribute('data-view')
const focused = (page, what) => page.evaluate((name) => document.activeElement.getAttribute(name), what)
const tools = (page) => page.getByRole('listbox', {name: 'Tools'}).getByRole('option')

export default {
  async 'letters go to each view'(world) {
    const {page} = await world.page('docent', '#/tools')
    for (const [view, letter] of Object.entries(VIEWS)) {
      await page.keyboard.press('g')
      await page.keyboard.press(letter)
      await until(async () => await current(page) === view, `g ${letter}`)
      await page.locator('#view').focus()
    }
  },

  async 'keys move, search, open and leave'(world) {
    const {page} = await world.page('everything', '#/tools')
    await tools(page).first().waitFor()
    await page.locator('#view').focus()
    await page.keyboard.press('/')
    same(await focused(page, 'aria-label'), 'Search tools', 'focus after /')
    await page.keyboard.type('get-')
    await page.keyboard.press('Escape')
    hold(await focused(page, 'aria-label') !== 'Search tools', 'Escape does not leave the field')
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('k')
    const chosen = (await tools(page).and(page.locator('[aria-selected=true]')).locator('.name').innerText()).trim()
    await page.keyboard.press('Enter')
    await page.getByRole('button', {name: 'Run', exact: true}).waitFor()
    hold(page.url().endsWith(`#/tools/${chosen}`), `${page.url()} is not ${chosen}`)
    await page.getByRole('searchbox', {name: 'Search tools'}).fill('')
  },

  async 'Ctrl and Enter run, Escape cancels'(world) {
    const {page} = await world.page('everything', `#/tools/trigger-long-running-operation?args=${encodeURIComponent('{"duration": 60, "steps": 2}')}`)
    await page.getByRole('button', {name: 'Run', exact: true}).waitFor()
    await page.locator('#view').focus()
    await page.keyboard.press('Control+Enter')
    await page.getByRole('button', {name: 'Cancel', exact: true}).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('status', {name: 'Outcome'}).getByText('cancelled').waitFor()
  },

  async 'a question mark shows the keys'(world) {
    const opened = await world.page('docent', '#/tools')
    await opened.page.locator('#view').focus()
    await opened.page.keyboard.press('?')
    await opened.dialog('Keyboard shortcuts').getByText('go to Traffic').waitFor()
    await opened.page.keyboard.press('Escape')
    await opened.dialog('Keyboard shortcuts').waitFor({state: 'detached'})
  },

  async 'every control is reached by Tab and has a name'(world) {
    const {page} = await world.page('everything', '#/tools/get-sum')
    await page.getByRole('button', {name: 'Run', exact: true}).waitFor()
    await page.locator('body').evaluate(() => document.activeElement.blur())
    const met = new Set()
    for (let step = 0; step < 60; step += 1) {
      await page.keyboard.press('Tab')
      met.add(await page.evaluate(() => (document.activeElement.getAttribute('aria-label') || document.activeElement.innerText || document.activeElement.id).trim().slice(0, 30)))
    }
    for (const name of ['Run', 'Save call…', 'Form', 'Reset', 'Result', 'Search tools']) hold([...met].some((one) => one.startsWith(name)), `${name} is not reached: ${[...met].join(', ')}`)
    const nameless = await page.evaluate(() => [...document.querySelectorAll('button, a, input, select, textarea')]
      .filter((node) => node.checkVisibility() && !(node.getAttribute('aria-label') || node.innerText || node.labels?.length || node.title)).map((node) => node.outerHTML.slice(0, 80)))
    same(nameless, [], 'controls without a name')
  },

  async 'links to each view survive a reload'(world) {
    const opened = await world.page('docent', '#/tools')
    const {page} = opened
    const places = ['#/tools/outline', `#/resources/${encodeURIComponent('ast://project/src/money.py')}`, '#/prompts', '#/search?q=rounded&in=code',
      '#/repository/src?show=map&depth=quick&by=folder&size=bytes', '#/traffic?method=tools', '#/errors', '#/health']
    for (const place of places) {
      await opened.go(place)
      await page.reload()
      await opened.ready()
      const view = /\w+/.exec(place)[0]
      await until(async () => await current(page) === view, `${place} after a reload`)
      hold(decodeURIComponent(page.url()).includes(decodeURIComponent(place.split('?')[0])), `${page.url()} after ${place}`)
      same(await page.getByText('can\'t be shown').count(), 0, `failures at ${place}`)
    }
  },

  async 'an unknown address leads to a view'(world) {
    const {page} = await world.page('docent', '#/tools')
    await page.evaluate(() => { location.hash = '#/%E0%A4%A/../x?y' })
    await until(async () => /#\/tools$/.test(page.url()), 'the last view')
  },

  async 'dark and light follow the system and the button'(world) {
    const opened = await world.open('docent', {theme: 'light'})
    const {page} = opened
    const light = await page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    await page.emulateMedia({colorScheme: 'dark'})
    const dark = await page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    hold(light !== dark, `both are ${dark}`)
    await page.getByRole('button', {name: 'Theme: system'}).click()
    await page.getByRole('button', {name: 'Theme: dark'}).click()
    same(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), light, 'light by the button')
    await page.reload()
    await page.getByRole('button', {name: 'Theme: light'}).waitFor()
    same(await page.evaluate(() => document.documentElement.dataset.theme), 'light', 'kept after a reload')
    opened.unhurt()
    await opened.close()
  },

  async 'a phone never scrolls sideways'(world) {
    const opened = await world.open('docent', {width: 390, height: 844})
    const {page} = opened
    same(await tooWide(opened, ['#/tools', '#/tools/analyze_code', '#/resources', `#/resources/${encodeURIComponent('ast://project/src/ledger.py')}`, '#/prompts',
      '#/search?q=balance&in=code', '#/repository?show=report', '#/repository?show=map', '#/repository/src/ledger.py?show=graph']), [], 'what is too wide')
    await opened.go('#/tools/analyze_code')
    await page.getByRole('link', {name: '← All tools'}).click()
    await tools(page).first().waitFor()
    opened.unhurt()
    await opened.close()
  },

  async 'a phone shows long texts without overflow'(world) {
    const opened = await world.open('serve', {width: 390, height: 844, hash: '#/health'})
    await opened.page.getByRole('region', {name: 'Doctor'}).getByRole('table').waitFor({timeout: 30_000})
    same(await tooWide(opened, ['#/health', '#/traffic', '#/errors', '#/tools/hostile__spoken']), [], 'what is too wide')
    opened.unhurt()
    await opened.close()
  },

  async 'edits survive a reload'(world) {
    const opened = await world.page('everything', '#/tools/get-sum')
    const {page} = opened
    await page.getByRole('group', {name: 'Edit as'}).getByRole('button', {name: 'Both'}).click()
    await page.getByLabel('Arguments as JSON').fill('{"a": 12')
    await page.reload()
    await opened.ready()
    await page.getByLabel('Arguments as JSON').waitFor()
    same(await page.getByLabel('Arguments as JSON').inputValue(), '{"a": 12', 'arguments')
    await page.getByRole('button', {name: 'Reset'}).click()
  },

  async 'the page reconnects when the server dies'(world) {
    const opened = await world.page('hostile', '#/tools/dies')
    const {page} = opened
    await page.getByRole('button', {name: 'Run', exact: true}).click()
    await page.getByRole('status', {name: 'Outcome'}).getByText('no response').waitFor()
    await opened.back()
    await opened.go('#/tools/empty')
    await page.getByRole('button', {name: 'Run', exact: true}).click()
    await page.getByRole('status', {name: 'Outcome'}).getByText(/^ok/).waitFor()
  },

  async 'a restart of docent is reported'(world) {
    const port = await freePort()
    const run = await world.place.inspect('--root', world.place.root, '--port', String(port))
    const opened = await world.open(run, {hash: '#/tools'})
    const {page} = opened
    await tools(page).first().waitFor()
    await world.place.stop(run)
    await page.locator('#bar').getByText('Not connected').waitFor()
    await page.locator('#notice').getByText(/Retrying in/).waitFor()
    const again = await world.place.inspect('--root', world.place.root, '--port', String(port))
    // The new process has another token, so it rejects this page.
    for (let tries = 0; tries < 4; tries += 1) await page.locator('#notice').getByRole('button', {name: 'Retry now'}).click()
    await page.locator('#notice').getByText('open the URL it printed').waitFor({timeout: 30_000})
    opened.unhurt({console: false})
    await opened.close()
    await world.place.stop(again)
  },

  async 'a command is shown in full and confirmed before it starts'(world) {
    const opened = await world.open('serve', {hash: '#/tools'})
    const {page} = opened
    await page.getByRole('button', {name: /^Target/}).click()
    await page.locator('#targets').getByRole('button', {name: /^everything/}).click()
    const dialog = opened.dialog('Start everything?')
    const [command, file] = world.place.everything
    hold((await dialog.innerText()).includes(`${command} ${file}`), await dialog.innerText())
    await page.keyboard.press('Enter')
    await dialog.getByRole('button', {name: 'Don\'t start'}).click()
    hold((await page.getByRole('button', {name: /^Target/}).innerText()).includes('docent'), 'the target changed')
    await page.getByRole('button', {name: /^Target/}).click()
    await page.locator('#targets').getByRole('button', {name: /^everything/}).click()
    await dialog.getByRole('button', {name: 'Start', exact: true}).click()
    await tools(page).filter({hasText: /^get-sum/}).waitFor({timeout: 20_000})
    opened.unhurt()
    await opened.close()
  },

  async 'another revision can be chosen'(world) {
    const opened = await world.open('docent', {hash: '#/tools'})
    const {page} = opened
    for (const revision of ['2026-07-28', '2024-11-05']) {
      await page.getByLabel('Protocol revision').selectOption(revision)
      await opened.ready()
      await tools(page).first().waitFor()
      await page.getByRole('button', {name: 'About the server'}).click()
      await page.getByText(`MCP ${revision}`).waitFor()
      await page.keyboard.press('Escape')
    }
    opened.unhurt()
    await opened.close()
  },
}

// Elements that overflow the right edge at these addresses, outside of scroll containers.
async function tooWide(opened, places) {
  const wide = []
  for (const place of places) {
    await opened.go(place)
    await opened.page.waitForFunction(() => document.querySelector('#view [aria-busy=true]') === null)
    wide.push(...(await opened.page.evaluate(over)).map((one) => `${place} ${one}`))
  }
  return wide
}

// Runs in the page.
function over() {
  const view = document.querySelector('.view')
  const held = (node) => node !== view && (getComputedStyle(node).overflowX !== 'visible' || held(node.parentElement))
  // Text may overflow its box.
  const right = (node) => node.getBoundingClientRect().left + Math.max(node.getBoundingClientRect().width, node.scrollWidth)
  const found = [...view.querySelectorAll('*')].filter((node) => node.checkVisibility() && right(node) > innerWidth + 1 && !held(node))
  return [...(document.documentElement.scrollWidth > innerWidth ? ['the page'] : []), ...found.slice(0, 3).map((node) => `${node.tagName} ${node.className} ${node.textContent.slice(0, 40)}`)]
}
