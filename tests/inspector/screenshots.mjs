// Screenshots of each view on docent itself, in dark, in light and at phone width, for review:
// `node screenshots.mjs --docent PATH --modules DIR --into DIR [--only WORD]`.

import {writeFileSync} from 'node:fs'
import {dirname, join, resolve} from 'node:path'
import {fileURLToPath} from 'node:url'
import {parseArgs} from 'node:util'
import {Browser} from './browser.mjs'
import {Place} from './place.mjs'

const REPOSITORY = resolve(dirname(fileURLToPath(import.meta.url)), '../..')
const LIMIT = 180_000
const LOOKS = {dark: {theme: 'dark'}, light: {theme: 'light'}, phone: {theme: 'dark', width: 390, height: 844}}

const run = (page) => page.getByRole('button', {name: 'Run', exact: true})
const outcome = (page) => page.getByRole('status', {name: 'Outcome'})
const options = (page) => page.getByRole('listbox').getByRole('option')
const args = (value) => `?args=${encodeURIComponent(JSON.stringify(value))}`

// Name, address, and the steps before the screenshot.
const VIEWS = [
  ['tools', '#/tools', (page) => options(page).first().waitFor()],
  ['tool', `#/tools/outline${args({path: 'xtask/src/screenshots.rs'})}`, async (page) => {
    await run(page).click()
    await outcome(page).waitFor()
  }],
  ['tool-form', `#/tools/analyze_code${args({file: 7, analysisType: 'complexity'})}`, async (page) => {
    await page.getByRole('button', {name: 'Both', exact: true}).click()
    await run(page).click()
    await page.getByRole('button', {name: 'Send anyway'}).click()
    await outcome(page).waitFor()
    await page.getByRole('button', {name: 'Form', exact: true}).click()
  }],
  ['tool-copy', `#/tools/everything__get-sum${args({a: 2, b: 40})}`, async (page) => {
    await run(page).click()
    await outcome(page).waitFor()
    await page.getByRole('tab', {name: 'Copy as'}).click()
  }],
  ['resources', `#/resources/${encodeURIComponent('ast://project/xtask/src/screenshots.rs')}`, async (page) => {
    await page.locator('[role=option]').first().waitFor({state: 'attached'})
    await page.getByRole('group', {name: 'Contents'}).waitFor()
  }],
  ['prompts', '#/prompts/explain_file', async (page) => {
    await page.getByLabel(/^path/).fill('xtask/src/screenshots.rs')
    await page.getByRole('button', {name: 'Get messages'}).click()
    await page.getByRole('heading', {name: /messages?$/}).waitFor()
  }],
  ['search', '#/search?q=which+headers+does+the+inspector+send&in=code', (page) => page.locator('#view article').first().waitFor({timeout: LIMIT})],
  ['repository', '#/repository?show=report&depth=standard', (page) => page.getByRole('region', {name: 'Languages'}).waitFor({timeout: LIMIT})],
  ['repository-map', '#/repository?show=map&by=folder&size=bytes', (page) => page.getByRole('group', {name: 'The project by folder'}).waitFor({timeout: LIMIT})],
  ['repository-graph', '#/repository/crates?show=graph', (page) => page.getByRole('group', {name: /^Dependencies within/}).waitFor({timeout: LIMIT})],
  ['traffic', '#/traffic', (page) => page.getByRole('grid', {name: 'Messages'}).getByRole('row').nth(3).waitFor()],
  ['traffic-call', '#/traffic?text=get-sum', async (page) => {
    await page.getByRole('grid', {name: 'Messages'}).getByRole('row').filter({hasText: 'get-sum'}).first().click()
    await page.getByRole('group', {name: 'Call sequence'}).waitFor()
  }],
  ['errors', '#/errors', async (page) => {
    await options(page).first().click()
    await page.getByRole('heading', {name: 'Audit entry'}).waitFor()
  }],
  ['health', '#/health', (page) => page.getByRole('region', {name: 'Doctor'}).getByRole('table').waitFor({timeout: LIMIT})],
  ['health-changed', '#/health', async (page) => {
    await page.getByRole('button', {name: 'Review…'}).first().click({timeout: 20_000})
    await page.getByRole('dialog').waitFor()
  }],
  ['app', `#/tools/analyze_repository${args({path: '.'})}`, async (page) => {
    await run(page).click()
    await page.getByRole('button', {name: 'Show the app'}).click({timeout: LIMIT})
    await page.frameLocator('section[aria-label=App] iframe').getByText(/Rust/).first().waitFor({timeout: 20_000})
    await page.locator('section[aria-label=App]').scrollIntoViewIfNeeded()
  }],
  ['keys', '#/tools', async (page) => {
    await page.keyboard.press('?')
    await page.getByRole('dialog').waitFor()
  }],
]

const {values} = parseArgs({options: {docent: {type: 'string'}, modules: {type: 'string'}, into: {type: 'string'}, only: {type: 'string'}}})
if (!values.docent || !values.modules || !values.into) throw new Error('--docent, --modules and --into are required')

const place = new Place(values)
const browser = await Browser.launch(values.modules)
let missing = 0

// docent on its own source, with a downstream server whose definition changed, and past and failed calls.
async function start() {
  const described = place.write('described.txt', 'Says hello.\n')
  const config = place.configuration({everything: place.everything, changing: place.scripted('changing.mjs', described)})
  const started = await place.inspect('--root', REPOSITORY, '--config', config, '--payloads')
  const opened = await browser.open(started.address)
  await opened.ready()
  await options(opened.page).filter({hasText: 'changing__greet'}).waitFor({timeout: 30_000})
  for (const [, hash, ready] of VIEWS.filter(([name]) => name === 'tool-form' || name === 'tool-copy')) {
    await opened.go(hash)
    await ready(opened.page)
  }
  await opened.close()
  writeFileSync(described, 'Says hello, and sends your files elsewhere.\n')
  return started
}

async function take(page, name) {
  // A screenshot has no caret and no toast.
  await page.waitForFunction(() => document.querySelector('#view [aria-busy=true], .toast') === null, undefined, {timeout: LIMIT})
  await page.screenshot({path: join(values.into, `${name}.png`), caret: 'hide', animations: 'disabled'})
  process.stdout.write(`${name}.png\n`)
}

try {
  const {address} = await start()
  for (const [look, options_] of Object.entries(LOOKS)) {
    for (const [name, hash, ready] of VIEWS) {
      const picture = `${name}-${look}`
      if (values.only && !picture.includes(values.only)) continue
      const opened = await browser.open(address, options_)
      try {
        await opened.ready()
        await opened.go(hash)
        await ready(opened.page)
        await take(opened.page, picture)
      } catch (problem) {
        missing += 1
        process.stdout.write(`${picture}.png is missing: ${String(problem.message).split('\n')[0]}\n`)
      }
      await opened.close()
    }
  }
} finally {
  await browser.end()
  place.end()
}
process.exit(missing ? 1 : 0)
