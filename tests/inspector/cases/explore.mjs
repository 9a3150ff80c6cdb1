// Search and Repository, which use docent's own tools.

import {hold, same} from '../report.mjs'

const LONG = {timeout: 45_000}
const hits = (page) => page.locator('#view').getByRole('article')

export default {
  async 'search finds code'(world) {
    const {page} = await world.page('docent', '#/search')
    await page.getByRole('searchbox', {name: 'What to search for'}).fill('sum of the postings of an account')
    await page.getByRole('button', {name: 'Search', exact: true}).click()
    await hits(page).first().waitFor(LONG)
    hold((await hits(page).first().innerText()).includes('balance'), await hits(page).first().innerText())
    hold(await hits(page).first().locator('mark').count() > 0, 'no word is marked')
    hold(await hits(page).first().getByRole('link', {name: /\.py:\d+/}).count() > 0, 'the hit names no file and line')
  },

  async 'search says why a hit was found'(world) {
    const {page} = await world.page('docent', '#/search?q=sum+of+the+postings+of+an+account&in=code')
    await hits(page).first().waitFor(LONG)
    const text = await hits(page).first().innerText()
    for (const part of ['score', 'words', 'meaning']) hold(text.includes(part), `${part} is not in: ${text.slice(0, 200)}`)
  },

  async 'search is kept in the address'(world) {
    const {page} = await world.page('docent', '#/search?q=rounded&in=code&limit=1')
    await hits(page).first().waitFor(LONG)
    same(await hits(page).count(), 1, 'hits')
    await page.reload()
    await hits(page).first().waitFor(LONG)
    same(await page.getByRole('searchbox', {name: 'What to search for'}).inputValue(), 'rounded', 'question')
    same(await page.getByLabel('limit').inputValue(), '1', 'limit')
  },

  async 'a hit has follow-up actions'(world) {
    const {page} = await world.page('docent', '#/search?q=rounded&in=code')
    await hits(page).first().waitFor(LONG)
    await hits(page).first().getByRole('button', {name: 'Open source'}).click()
    await hits(page).first().getByText('return round(amount, 2)').first().waitFor()
    await hits(page).first().getByRole('link', {name: /\.py:\d+/}).click()
    await page.getByRole('group', {name: 'Contents'}).waitFor()
  },

  async 'search finds documentation or says how to add it'(world) {
    const {page} = await world.page('docent', '#/search?q=overdrawn+account&in=docs')
    await page.locator('#view').getByText(/^\d+ hits?\b/).waitFor(LONG)
    await hits(page).first().or(page.getByText('docent docs add')).first().waitFor()
  },

  async 'search reports missing tools of other servers'(world) {
    const {page} = await world.page('everything', '#/search?q=x')
    await page.getByText('has no tool query_annotations').waitFor()
  },

  async 'the report has its parts'(world) {
    const {page} = await world.page('docent', '#/repository?show=report&depth=standard')
    await page.getByRole('region', {name: 'Languages'}).waitFor(LONG)
    hold((await page.getByRole('region', {name: 'Languages'}).innerText()).includes('Python'), 'Python is not listed')
    await page.getByText(/^Took /).waitFor()
  },

  async 'the map can be navigated'(world) {
    const {page} = await world.page('docent', '#/repository?show=map&by=folder&size=bytes')
    const map = page.getByRole('group', {name: 'The project by folder'})
    await map.getByRole('button', {name: /^src\//}).waitFor(LONG)
    await map.getByRole('button').first().focus()
    await page.keyboard.press('ArrowRight')
    hold(await map.getByRole('button').nth(1).evaluate((node) => node === document.activeElement), 'the arrow does not move')
    await map.getByRole('button', {name: /^src\//}).click()
    await page.getByRole('group', {name: 'src by folder'}).getByRole('button', {name: /ledger\.py/}).waitFor(LONG)
    await page.keyboard.press('u')
    await map.waitFor(LONG)
  },

  async 'the graph can be navigated'(world) {
    const {page} = await world.page('docent', '#/repository/src/ledger.py?show=graph')
    const graph = (file) => page.getByRole('group', {name: `Dependencies and dependents of ${file}`})
    await graph('src/ledger.py').getByRole('button', {name: 'src/money.py: imported by it'}).click(LONG)
    await graph('src/money.py').getByRole('button', {name: 'src/report.py: imports it'}).click(LONG)
    await graph('src/report.py').waitFor(LONG)
    await page.goBack()
    await graph('src/money.py').waitFor(LONG)
  },

  async 'a missing folder is reported'(world) {
    const {page} = await world.page('docent', '#/repository/nowhere?show=report')
    await page.getByRole('alert').getByText('The analysis failed').waitFor(LONG)
    await page.getByRole('link', {name: 'Go to parent folder'}).click()
    await page.getByRole('region', {name: 'Languages'}).waitFor(LONG)
  },

  async 'Repository needs docent\'s tools'(world) {
    const {page} = await world.page('everything', '#/repository')
    await page.getByText('has no tool analyze_repository').waitFor()
  },
}
