// Errors: failed calls of others through `docent serve`, explained; and this page's own where docent is not inside.

import {hold, same} from '../report.mjs'
import {Caller} from '../place.mjs'
import {capture} from './traffic.mjs'

const errors = (page) => page.getByRole('listbox', {name: 'Errors'}).getByRole('option')

// What is said under a heading of the explanation.
const told = (page, term) => page.locator('dl.said').locator(`dt:text-is("${term}") + dd`)

async function failing(world, name, tool, args) {
  const opened = await world.page('serve', '#/traffic?')
  await capture(opened.page, true)
  const {mcp} = await world.target('serve')
  const client = await new Caller(mcp, name).open()
  const answer = await client.request('tools/call', {name: tool, arguments: args})
  hold(answer.error || answer.result.isError, 'the call does not fail')
  await opened.go('#/errors')
  await errors(opened.page).filter({hasText: name}).first().click()
  return opened
}

export default {
  async 'a wrong argument is explained and marked'(world) {
    const {page} = await failing(world, 'wrong-argument', 'outline', {path: 7})
    await told(page, 'It means').waitFor()
    for (const term of ['It means', 'Likely cause', 'What to change']) hold((await told(page, term).innerText()).length > 10, `${term} is empty`)
    hold((await told(page, 'It means').innerText()).includes('In this revision wrong arguments come this way too'), await told(page, 'It means').innerText())
    await page.locator('mark.fault').first().waitFor()
    const marked = await page.locator('mark.fault').first().innerText()
    hold(/"path": 7/.test(marked) && marked.includes('←'), marked)
    await page.getByRole('heading', {name: 'Log lines'}).waitFor()
    await page.getByRole('heading', {name: 'Audit line'}).waitFor()
    hold((await page.locator('#view').innerText()).includes('"tool":"outline"') || /"outline"/.test(await page.locator('#view').innerText()), 'no audit line of the call')
  },

  async 'a code means what its revision says'(world) {
    const {page} = await failing(world, 'no-such-tool', 'there_is_no_such_tool', {})
    await told(page, 'It means').waitFor()
    hold((await page.locator('#view').innerText()).includes('-32602'), 'the code is not told')
    hold((await told(page, 'It means').innerText()).includes('of the method itself'), await told(page, 'It means').innerText())
    await page.locator('#view').getByText('2025-11-25', {exact: true}).waitFor()
  },

  async 'a server that dies is told of'(world) {
    const {page} = await failing(world, 'dying', 'hostile__dies', {})
    await told(page, 'What to change').waitFor()
    hold((await told(page, 'What to change').innerText()).length > 10, 'nothing to change')
    await page.getByRole('link', {name: 'Show in Traffic'}).click()
    await page.getByRole('grid', {name: 'Messages'}).waitFor()
    await page.getByRole('link', {name: 'Explain the error'}).click()
    await told(page, 'It means').waitFor()
  },

  async 'without payloads it says how to get them'(world) {
    const opened = await world.page('serve', '#/traffic?')
    await capture(opened.page, false)
    const {mcp} = await world.target('serve')
    const client = await new Caller(mcp, 'unkept').open()
    await client.request('tools/call', {name: 'outline', arguments: {path: 8}})
    await opened.go('#/errors')
    await errors(opened.page).filter({hasText: 'unkept'}).first().click()
    await opened.page.getByRole('button', {name: 'Capture payloads'}).click()
    await opened.page.getByText('Payloads are captured from now on.').waitFor()
  },

  async 'the page\'s own failures are there without docent inside'(world) {
    const {page} = await world.page('everything', `#/tools/get-sum?args=${encodeURIComponent('{"a": "x", "b": 1}')}`)
    await page.getByRole('button', {name: 'Run', exact: true}).click()
    await page.getByRole('button', {name: 'Send anyway'}).click()
    await page.getByRole('status', {name: 'Outcome'}).getByText(/error/).waitFor()
    await (await world.page('everything')).go('#/errors')
    await errors(page).filter({hasText: 'get-sum'}).first().click()
    await told(page, 'It means').waitFor()
  },

  async 'none is no empty page'(world) {
    const opened = await world.open('everything', {hash: '#/errors'})
    await opened.page.getByText('No call has failed.').waitFor()
    same(await errors(opened.page).count(), 0, 'errors')
    opened.unhurt()
    await opened.close()
  },
}
