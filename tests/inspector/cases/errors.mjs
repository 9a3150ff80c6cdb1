// Errors: explanations of failed calls through `docent serve`, and of this page's own on other targets.

import {hold, same} from '../report.mjs'
import {Caller} from '../place.mjs'
import {capture} from './traffic.mjs'

const errors = (page) => page.getByRole('listbox', {name: 'Errors'}).getByRole('option')

// The text under a heading of the explanation.
const explained = (page, term) => page.locator('dl.said').locator(`dt:text-is("${term}") + dd`)

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
    await explained(page, 'Meaning').waitFor()
    for (const term of ['Meaning', 'Likely cause', 'What to change']) hold((await explained(page, term).innerText()).length > 10, `${term} is empty`)
    hold((await explained(page, 'Meaning').innerText()).includes('In this revision wrong arguments are reported this way too'), await explained(page, 'Meaning').innerText())
    await page.locator('mark.fault').first().waitFor()
    const marked = await page.locator('mark.fault').first().innerText()
    hold(/"path": 7/.test(marked) && marked.includes('←'), marked)
    await page.getByRole('heading', {name: 'Log lines'}).waitFor()
    await page.getByRole('heading', {name: 'Audit entry'}).waitFor()
    hold((await page.locator('#view').innerText()).includes('"tool":"outline"') || /"outline"/.test(await page.locator('#view').innerText()), 'no audit entry of the call')
  },

  async 'a code means what its revision says'(world) {
    const {page} = await failing(world, 'no-such-tool', 'there_is_no_such_tool', {})
    await explained(page, 'Meaning').waitFor()
    hold((await page.locator('#view').innerText()).includes('-32602'), 'the code is not shown')
    hold((await explained(page, 'Meaning').innerText()).includes('of the method itself'), await explained(page, 'Meaning').innerText())
    await page.locator('#view').getByText('2025-11-25', {exact: true}).waitFor()
  },

  async 'a server that dies is reported'(world) {
    const {page} = await failing(world, 'dying', 'hostile__dies', {})
    await explained(page, 'What to change').waitFor()
    hold((await explained(page, 'What to change').innerText()).length > 10, 'no suggested change')
    await page.getByRole('link', {name: 'Show in Traffic'}).click()
    await page.getByRole('grid', {name: 'Messages'}).waitFor()
    await page.getByRole('link', {name: 'Explain the error'}).click()
    await explained(page, 'Meaning').waitFor()
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
    await opened.page.getByText('Payload capture is on.').waitFor()
  },

  async 'the page\'s own failures are shown on other targets'(world) {
    const {page} = await world.page('everything', `#/tools/get-sum?args=${encodeURIComponent('{"a": "x", "b": 1}')}`)
    await page.getByRole('button', {name: 'Run', exact: true}).click()
    await page.getByRole('button', {name: 'Send anyway'}).click()
    await page.getByRole('status', {name: 'Outcome'}).getByText(/error/).waitFor()
    await (await world.page('everything')).go('#/errors')
    await errors(page).filter({hasText: 'get-sum'}).first().click()
    await explained(page, 'Meaning').waitFor()
  },

  async 'without errors the page explains itself'(world) {
    const opened = await world.open('everything', {hash: '#/errors'})
    await opened.page.getByText('No failed calls.').waitFor()
    same(await errors(opened.page).count(), 0, 'errors')
    opened.unhurt()
    await opened.close()
  },
}
