// axe-core on each view in dark and light theme, and at phone width.

import {readFileSync} from 'node:fs'
import {same} from '../report.mjs'

const quiet = (page) => page.waitForFunction(() => document.querySelector('#view [aria-busy=true]') === null)

// Address, and the element to wait for.
const PLACES = {
  docent: [
    ['#/tools/query_annotations', (page) => page.getByRole('button', {name: 'Run', exact: true})],
    ['#/resources', (page) => page.getByRole('listbox').getByRole('option').first()],
    ['#/prompts', (page) => page.getByRole('listbox').getByRole('option').first()],
    ['#/search?q=rounded&in=code', (page) => page.locator('#view article').first()],
    ['#/repository?show=report', (page) => page.getByRole('region', {name: 'Languages'})],
    ['#/repository?show=map', (page) => page.getByRole('group', {name: 'The project by folder'})],
    ['#/repository/src/ledger.py?show=graph', (page) => page.getByRole('group', {name: /^Dependencies and dependents of src/})],
  ],
  everything: [
    ['#/tools/get-annotated-message', (page) => page.getByRole('button', {name: 'Run', exact: true})],
    ['#/resources/demo%3A%2F%2Fresource%2Fdynamic%2Ftext%2F1', (page) => page.getByRole('group', {name: 'Contents'})],
    ['#/prompts/completable-prompt', (page) => page.getByRole('button', {name: 'Get messages'})],
  ],
  hostile: [
    ['#/tools/spoken', (page) => page.getByRole('button', {name: 'Run', exact: true})],
    ['#/tools/kinds', (page) => page.getByRole('button', {name: 'Run', exact: true})],
  ],
  serve: [
    ['#/traffic', (page) => page.getByRole('switch', {name: 'Capture'})],
    ['#/errors', (page) => page.getByRole('searchbox', {name: 'Search errors'})],
    ['#/health', (page) => page.getByRole('region', {name: 'Doctor'}).getByRole('table')],
  ],
}

// Serious and critical violations, as sentences.
async function found(opened, axe) {
  const {violations} = await opened.page.evaluate(`${axe}; axe.run(document, {resultTypes: ['violations']})`)
  return violations.filter(({impact}) => impact === 'serious' || impact === 'critical')
    .map(({id, nodes}) => `${id} ${nodes.slice(0, 2).map((node) => `${node.target.join(' ')} ${node.any[0]?.message ?? ''}`).join(' | ')}`)
}

async function look(world, target, options) {
  const axe = readFileSync(world.browser.axe(), 'utf8')
  const opened = await world.open(target, options)
  const all = []
  for (const [hash, there] of PLACES[target]) {
    await opened.go(hash)
    await there(opened.page).waitFor({timeout: 30_000})
    await quiet(opened.page)
    const run = opened.page.getByRole('button', {name: 'Run', exact: true})
    if (target !== 'docent' && await run.isVisible()) {
      await run.click()
      await opened.page.getByRole('status', {name: 'Outcome'}).or(opened.page.getByRole('button', {name: 'Send anyway'})).first().waitFor()
    }
    all.push(...(await found(opened, axe)).map((one) => `${hash} ${one}`))
  }
  same(all, [], 'serious or critical')
  await opened.close()
}

const cases = {}
for (const target of Object.keys(PLACES)) {
  for (const theme of ['dark', 'light']) cases[`${target} in ${theme}`] = (world) => look(world, target, {theme})
}
cases['docent on a phone'] = (world) => look(world, 'docent', {width: 390, height: 844})
cases['serve on a phone'] = (world) => look(world, 'serve', {width: 390, height: 844})
export default cases
