// Tools: list, form and JSON, validation, running calls, results, and history.

import {execFile} from 'node:child_process'
import {promisify} from 'node:util'
import {hold, same} from '../report.mjs'

const run = promisify(execFile)

const tools = (page) => page.getByRole('listbox', {name: 'Tools'}).getByRole('option')
const fields = (page) => page.getByRole('region', {name: 'Arguments', exact: true})
const json = (page) => page.getByLabel('Arguments as JSON')
const judged = (page) => page.getByRole('status', {name: 'Validation'})
const outcome = (page) => page.getByRole('status', {name: 'Outcome'})
const panel = (page, name) => page.getByRole('tabpanel', {name})
const editAs = (page, mode) => page.getByRole('group', {name: 'Edit as'}).getByRole('button', {name: mode}).click()
const arguments_ = async (page) => JSON.parse(await json(page).inputValue())

// Opens a tool, with these arguments or its defaults.
async function tool(world, server, name, args) {
  const opened = await world.page(server, '#/tools')
  await opened.go(`#/tools/${encodeURIComponent(name)}${args ? `?args=${encodeURIComponent(JSON.stringify(args))}` : ''}`)
  await opened.page.getByRole('button', {name: 'Run', exact: true}).waitFor()
  return opened.page
}

// Presses Run and waits for the outcome.
async function call(page, said = /^ok$/) {
  await page.getByRole('button', {name: 'Run', exact: true}).click()
  await page.getByRole('button', {name: 'Cancel', exact: true}).waitFor({state: 'hidden'})
  await outcome(page).getByText(said).waitFor()
}

async function called(world, server, name, args, said) {
  const page = await tool(world, server, name, args)
  await call(page, said)
  return page
}

export default {
  async 'the list shows source and cost, and can be searched'(world) {
    const {page} = await world.page('serve', '#/tools')
    await tools(page).filter({hasText: 'everything__get-sum'}).waitFor()
    const all = await tools(page).count()
    hold(all > 30, `${all} tools`)
    const row = await tools(page).filter({hasText: 'everything__get-sum'}).innerText()
    hold(/everything/.test(row) && /\d/.test(row), row)
    await page.getByRole('searchbox', {name: 'Search tools'}).fill('get-sum')
    same(await tools(page).count(), 1, 'tools that match')
    await page.getByLabel('Order').selectOption({label: 'By cost'})
    await page.getByRole('searchbox', {name: 'Search tools'}).fill('')
    const costs = await tools(page).locator('.cost').allInnerTexts()
    const numbers = costs.map((text) => Number(text.replace(/\D/g, '')))
    same(numbers, [...numbers].sort((a, b) => b - a), 'costs in order')
    await page.getByLabel('Order').selectOption({label: 'As listed'})
  },

  async 'form and JSON stay in sync'(world) {
    const page = await tool(world, 'everything', 'get-sum', {})
    await editAs(page, 'Both')
    await fields(page).getByLabel('a', {exact: true}).fill('2')
    same(await arguments_(page), {a: 2}, 'JSON after the form')
    await json(page).fill('{"a": 2, "b": 40, "c": [1]}')
    same(await fields(page).getByLabel('b', {exact: true}).inputValue(), '40', 'form after JSON')
    await fields(page).getByLabel('a', {exact: true}).fill('3')
    same(await arguments_(page), {a: 3, b: 40, c: [1]}, 'fields unknown to the form are kept')
  },

  async 'nested schemas make forms'(world) {
    const page = await tool(world, 'docent', 'query_annotations', {query: 'ledger'})
    await editAs(page, 'Both')
    const options = fields(page).getByRole('group', {name: 'options'})
    await options.getByRole('button', {name: 'Add options'}).click()
    await options.getByLabel('limit', {exact: true}).fill('3')
    const {query, options: made} = await arguments_(page)
    same([query, made.limit], ['ledger', 3], 'arguments')
  },

  async 'validation shows path and reason while typing'(world) {
    const page = await tool(world, 'everything', 'get-sum', {a: 1, b: 2})
    await editAs(page, 'Both')
    await judged(page).getByText('Matches the schema').waitFor()
    await fields(page).getByLabel('b', {exact: true}).fill('two')
    await judged(page).getByRole('button', {name: /\/b.*number/}).waitFor()
    same(await fields(page).getByLabel('b', {exact: true}).getAttribute('aria-invalid'), 'true', 'the field is marked')
    await json(page).fill('{"a": 1,')
    await judged(page).getByText(/Line 1/).waitFor()
    await page.getByRole('button', {name: 'Run', exact: true}).click()
    same(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), 'Arguments as JSON', 'focus')
    await json(page).fill('{"a": 1}')
    await page.getByRole('button', {name: 'Run', exact: true}).click()
    await page.getByRole('button', {name: 'Send anyway'}).click()
    await outcome(page).getByText(/error/).waitFor()
  },

  async 'a call runs and returns a result'(world) {
    const page = await called(world, 'everything', 'get-sum', {a: 2, b: 40})
    await panel(page, 'Result').getByText('The sum of 2 and 40 is 42.').waitFor()
    hold(/ms|s/.test(await outcome(page).innerText()), 'the outcome has no time')
  },

  async 'progress is shown and a call is cancelled'(world) {
    const page = await tool(world, 'everything', 'trigger-long-running-operation', {duration: 60, steps: 300})
    await page.getByRole('button', {name: 'Run', exact: true}).click()
    await page.getByText(/^[1-9]\d* of 300/).waitFor()
    hold(await page.getByRole('progressbar', {name: 'Progress'}).getAttribute('value') !== null, 'the bar has no value')
    await page.getByRole('button', {name: 'Cancel', exact: true}).click()
    await outcome(page).getByText('cancelled').waitFor()
    await page.getByText('The call was cancelled').waitFor()
  },

  async 'a running call continues while another view is open'(world) {
    const page = await tool(world, 'everything', 'trigger-long-running-operation', {duration: 2, steps: 20})
    await page.getByRole('button', {name: 'Run', exact: true}).click()
    await page.getByText(/^[1-9]\d* of 20/).waitFor()
    await (await world.page('everything')).go('#/tools/echo')
    await page.getByRole('heading', {name: /echo/i}).first().waitFor()
    await (await world.page('everything')).go('#/tools/trigger-long-running-operation')
    await panel(page, 'Result').getByText('Long running operation completed').waitFor()
  },

  async 'an image is an image'(world) {
    const page = await called(world, 'everything', 'get-tiny-image')
    const picture = panel(page, 'Result').getByRole('img', {name: /Image/})
    await picture.waitFor()
    hold(await picture.evaluate((node) => node.decode().then(() => node.naturalWidth)) > 1, 'the image has no width')
  },

  async 'audio and Markdown are rendered'(world) {
    let page = await called(world, 'hostile', 'kinds', null, /^(ok|tool error)$/)
    same(await panel(page, 'Result').getByLabel(/^Audio, audio\/wav/).count(), 1, 'players')
    page = await called(world, 'hostile', 'markdown')
    await panel(page, 'Result').getByRole('table').first().waitFor()
    await panel(page, 'Result').getByRole('button', {name: 'As text'}).first().click()
    await panel(page, 'Result').getByText('[click](javascript:').first().waitFor()
  },

  async 'a resource link opens'(world) {
    const page = await called(world, 'everything', 'get-resource-links', {count: 2})
    await panel(page, 'Result').getByRole('link', {name: 'demo://resource/dynamic/text/2'}).click()
    await page.getByText('Resource 2: This is a plaintext resource').waitFor()
  },

  async 'an embedded resource is shown'(world) {
    const page = await called(world, 'everything', 'get-resource-reference', {resourceType: 'Text', resourceId: 1})
    await panel(page, 'Result').getByText('Resource 1: This is a plaintext resource').waitFor()
  },

  async 'structured content is checked'(world) {
    const page = await called(world, 'everything', 'get-structured-content', {location: 'Chicago'})
    await panel(page, 'Result').getByRole('group', {name: 'Structured content'}).getByText('matches outputSchema').waitFor()
  },

  async 'a destructive tool is confirmed, and missing structured content reported'(world) {
    const page = await tool(world, 'hostile', 'spoken', {text: 'x'})
    await page.getByRole('button', {name: 'Run', exact: true}).click()
    await page.getByRole('button', {name: 'Send anyway'}).click()
    const dialog = page.getByRole('dialog', {name: 'Run a destructive tool?'})
    await dialog.getByRole('button', {name: 'Run it'}).click()
    await page.getByText('the result has no structuredContent').waitFor()
  },

  async 'calls are stored, compared and replayed'(world) {
    let page = await called(world, 'everything', 'echo', {message: 'one line'})
    page = await called(world, 'everything', 'echo', {message: 'another line'})
    await page.getByRole('tab', {name: /History/}).click()
    const rows = panel(page, /History/).getByRole('region', {name: 'Calls'}).getByRole('listitem')
    same(await rows.count(), 2, 'calls')
    for (const box of await rows.getByRole('checkbox').all()) await box.check()
    await page.getByRole('button', {name: 'Compare selected'}).click()
    const compared = panel(page, 'Result').getByRole('table')
    await compared.getByText('Echo: one line').waitFor()
    await compared.getByText('Echo: another line').waitFor()
    await page.getByRole('tab', {name: /History/}).click()
    await rows.last().getByRole('button', {name: /Replay/}).click()
    await panel(page, 'Result').getByText('Echo: one line').waitFor()
    await page.reload()
    await page.getByRole('tab', {name: 'History (3)'}).waitFor()
    await panel(page, 'Result').getByText('Echo: one line').waitFor()
  },

  async 'a call is saved and run again'(world) {
    const page = await tool(world, 'everything', 'echo', {message: 'saved words'})
    await page.getByRole('button', {name: 'Save call…'}).click()
    const dialog = page.getByRole('dialog', {name: 'Save this call'})
    await dialog.getByLabel('Name').fill('mine')
    await dialog.getByRole('button', {name: 'Save'}).click()
    await dialog.waitFor({state: 'hidden'})
    await tool(world, 'everything', 'echo', {message: 'other words'})
    await page.getByRole('tab', {name: /History/}).click()
    await page.getByRole('button', {name: 'Run mine'}).click()
    await panel(page, 'Result').getByText('Echo: saved words').waitFor()
    await page.getByRole('tab', {name: /History/}).click()
    await page.getByRole('button', {name: 'Delete mine'}).click()
    await page.getByRole('button', {name: 'Run mine'}).waitFor({state: 'detached'})
  },

  async 'the shell snippet returns the same result'(world) {
    const message = `it's "$HOME" \`x\` & more; #1`
    const page = await called(world, 'everything', 'echo', {message})
    await page.getByRole('tab', {name: 'Copy as'}).click()
    await page.getByRole('button', {name: 'Copy as docent call'}).click()
    const line = await page.evaluate(() => navigator.clipboard.readText())
    hold(line.startsWith('docent call echo '), line)
    const {place} = world
    const {stdout} = await run('sh', ['-c', line.replace(/^docent/, `'${place.docent}'`)], {env: place.environment(), cwd: place.root})
    same(stdout.trim(), `Echo: ${message}`, 'output of the shell snippet')
  },

  async 'the curl snippet returns the same result'(world) {
    const {mcp} = await world.target('serve')
    const asked = await world.once('by address', () => world.place.inspect('--url', mcp))
    const opened = await world.open(asked, {hash: `#/tools/everything__get-sum?args=${encodeURIComponent('{"a": 2, "b": 3}')}`})
    const {page} = opened
    await page.getByRole('tab', {name: 'Copy as'}).click()
    const text = await page.getByRole('group', {name: 'curl snippet'}).innerText()
    const {stdout} = await run('sh', ['-c', text], {env: world.place.environment()})
    hold(stdout.includes('The sum of 2 and 3 is 5.'), `curl printed ${stdout.slice(0, 300)}`)
    opened.unhurt()
    await opened.close()
  },

  async 'a call is exported as snippets'(world) {
    const page = await tool(world, 'everything', 'get-sum', {a: 2, b: 40})
    await page.getByRole('tab', {name: 'Copy as'}).click()
    const shown = async (name) => page.getByRole('group', {name: `${name} snippet`}).innerText()
    same(JSON.parse(await shown('JSON-RPC')).params, {name: 'get-sum', arguments: {a: 2, b: 40}}, 'params')
    hold((await shown('Python')).includes('call_tool("get-sum", {"a": 2, "b": 40})'), await shown('Python'))
    hold((await shown('TypeScript')).includes("callTool({name: \"get-sum\""), await shown('TypeScript'))
    await editAs(page, 'Both')
    await fields(page).getByLabel('b', {exact: true}).fill('41')
    same(JSON.parse(await shown('JSON-RPC')).params.arguments.b, 41, 'follows the arguments')
  },

  async 'the server asks the user'(world) {
    const page = await tool(world, 'everything', 'trigger-elicitation-request', {})
    await page.getByRole('button', {name: 'Run', exact: true}).click()
    const dialog = page.getByRole('dialog', {name: /asks$/})
    await dialog.getByLabel('name', {exact: true}).fill('Ada')
    await dialog.getByRole('button', {name: 'Send'}).click()
    await panel(page, 'Result').getByText(/Ada/).first().waitFor()
  },

  async 'the server asks for a sample'(world) {
    const page = await tool(world, 'everything', 'trigger-sampling-request', {prompt: 'Say hello', maxTokens: 20})
    await page.getByRole('button', {name: 'Run', exact: true}).click()
    const dialog = page.getByRole('dialog', {name: /asks for a model/})
    await dialog.getByText(/Say hello/).waitFor()
    await dialog.getByLabel('Response').fill('Hello from a person.')
    await dialog.getByRole('button', {name: 'Send'}).click()
    await panel(page, 'Result').getByText(/Hello from a person/).first().waitFor()
  },
}
