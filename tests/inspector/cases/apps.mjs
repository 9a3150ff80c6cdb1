// MCP Apps: a server's page in a sandboxed frame, and its limits.

import {hold, same, until} from '../report.mjs'

// The app's own list of attempts.
const tried = (page) => page.frameLocator('section[aria-label=App] iframe').locator('#tried li')

export default {
  async 'an app that floods its host is stopped'(world) {
    const opened = await world.open('hostile', {hash: '#/resources/ui%3A%2F%2Fhostile%2Fapp.html'})
    const {page} = opened
    await page.getByRole('button', {name: 'Show as app'}).click()
    await page.getByText('The app was stopped. It sent more than').waitFor()
    same(await page.locator('section[aria-label=App] iframe').count(), 0, 'remaining frames')
    opened.unhurt({frames: true})
    await opened.close()
  },

  async 'a hostile app gets nothing'(world) {
    const opened = await world.open('hostile', {hash: '#/tools/quiet_app'})
    const {page} = opened
    await page.getByRole('button', {name: 'Run', exact: true}).click()
    await page.getByRole('button', {name: 'Show the app'}).click()
    const frame = page.locator('section[aria-label=App] iframe')
    await frame.waitFor()
    same([await frame.getAttribute('sandbox'), await frame.getAttribute('referrerpolicy')], ['allow-scripts', 'no-referrer'], 'the frame')
    await page.getByText('The app requests network access to http://pwned.invalid').waitFor()
    await page.getByText('The app requests camera, clipboardWrite').waitFor()
    await until(async () => await tried(page).count() > 20 && !(await tried(page).allInnerTexts()).some((text) => text.includes('waiting')), 'all attempts')
    same((await tried(page).allInnerTexts()).filter((text) => text.includes('GOT')), [], 'what the app got')
    opened.unhurt({frames: true})
    await opened.close()
  },

  async 'an app talks to its host'(world) {
    const opened = await world.open('hostile', {hash: '#/tools/polite_app'})
    const {page} = opened
    await page.getByRole('button', {name: 'Run', exact: true}).click()
    await page.getByRole('button', {name: 'Show the app'}).click()
    const app = page.frameLocator('section[aria-label=App] iframe')
    await app.getByText('input {"word":"given"}').waitFor()
    await app.getByText('result for the app').waitFor()
    await app.getByText('theme dark').waitFor()
    await app.getByRole('button', {name: 'call'}).click()
    const dialog = opened.dialog('The app wants to call a tool')
    await dialog.getByText('empty').waitFor()
    await dialog.getByRole('button', {name: 'Refuse'}).click()
    await app.getByText('answer: The user refused.').waitFor()
    await app.getByRole('button', {name: 'open'}).click()
    await opened.dialog('The app wants to open a URL').getByRole('button', {name: 'Refuse'}).click()
    await page.getByText(/^App messages/).click()
    await page.getByRole('log', {name: 'App messages'}).getByText('ui/initialize').waitFor()
    await page.getByRole('button', {name: 'Close', exact: true}).click()
    await page.getByText('The app was closed.').waitFor()
    opened.unhurt({frames: true})
    await opened.close()
  },

  async 'docent\'s own apps are shown'(world) {
    const opened = await world.open('docent', {hash: '#/resources'})
    const {page} = opened
    const apps = page.getByRole('listbox', {name: 'Resources'}).getByRole('option').filter({hasText: 'ui://docent/'})
    await page.getByRole('listbox', {name: 'Resources'}).getByRole('option').first().waitFor()
    hold(await apps.count() >= 3, `${await apps.count()} resources of docent are apps`)
    await opened.go(`#/tools/analyze_repository?args=${encodeURIComponent('{"path": "."}')}`)
    await page.getByRole('button', {name: 'Run', exact: true}).click()
    await page.getByRole('button', {name: 'Show the app'}).click({timeout: 45_000})
    await page.frameLocator('section[aria-label=App] iframe').getByText(/Python/).first().waitFor({timeout: 20_000})
    opened.unhurt({frames: true})
    await opened.close()
  },
}
