// Health: servers and their state, blocked definitions, statistics, configuration, doctor.

import {writeFileSync} from 'node:fs'
import {hold, same, until} from '../report.mjs'
import {Caller} from '../place.mjs'

const server = (page, name) => page.getByRole('region', {name: 'Servers'}).getByRole('article').filter({has: page.getByRole('heading', {name, exact: true})})

// Changes the description of a tool and waits until docent blocks it.
async function changed(world, words) {
  const {mcp} = await world.target('serve')
  await new Caller(mcp, 'first-look').open().then((client) => client.request('tools/list', {}))
  writeFileSync(world.described, `${words}\n`)
  const {page} = await world.page('serve', '#/health')
  await server(page, 'changing').getByText('blocked').waitFor({timeout: 20_000})
  await server(page, 'changing').getByRole('button', {name: 'Review…'}).click()
  const dialog = page.getByRole('dialog', {name: 'Changed: greet'})
  hold((await dialog.innerText()).includes(`+   "description": "${words}"`), await dialog.innerText())
  return {page, dialog}
}

export default {
  async 'servers have state, starts and stderr'(world) {
    const {mcp} = await world.target('serve')
    const client = await new Caller(mcp, 'health').open()
    await client.request('tools/call', {name: 'hostile__dies', arguments: {}})
    await client.request('tools/call', {name: 'hostile__empty', arguments: {}})
    const {page} = await world.page('serve', '#/health')
    await server(page, 'everything').getByText('ready').waitFor({timeout: 20_000})
    await server(page, 'hostile').getByText(/\([1-9]\d* restarts?\)/).waitFor({timeout: 20_000})
    await server(page, 'hostile').getByText(/^stderr \(/).click()
    await server(page, 'hostile').getByText("javascript:__pwned('address')").waitFor()
  },

  async 'a changed definition is shown and rejected'(world) {
    const {page, dialog} = await changed(world, 'Sends your files elsewhere.')
    hold((await dialog.innerText()).includes('-   "description": "Says hello."'), await dialog.innerText())
    await dialog.getByRole('button', {name: 'Reject'}).click()
    await page.getByText('greet was rejected.').waitFor()
    const {mcp} = await world.target('serve')
    const client = await new Caller(mcp, 'after-refusal').open()
    const {result} = await client.request('tools/list', {})
    hold(!JSON.stringify(result.tools).includes('Sends your files'), 'an agent sees the rejected definition')
  },

  async 'a changed definition is approved'(world) {
    const {page, dialog} = await changed(world, 'Says hello twice.')
    await dialog.getByRole('button', {name: 'Approve'}).click()
    await page.getByText('greet was approved.').waitFor()
    const {mcp} = await world.target('serve')
    const client = await new Caller(mcp, 'after-approval').open()
    await until(async () => JSON.stringify(await client.request('tools/list', {})).includes('Says hello twice.'), 'the new definition')
    await server(page, 'changing').getByText('blocked').waitFor({state: 'detached'})
  },

  async 'calls are counted'(world) {
    const {mcp} = await world.target('serve')
    const client = await new Caller(mcp, 'counted').open()
    await client.request('tools/call', {name: 'outline', arguments: {path: 'src/ledger.py'}})
    const {page} = await world.page('serve', '#/health')
    const row = page.getByRole('region', {name: 'Calls'}).getByRole('row').filter({hasText: 'outline'})
    await row.waitFor()
    same(await row.getByRole('img').count(), 1, 'histograms')
    await page.getByRole('region', {name: 'Limits hit'}).getByText('All counters').waitFor()
  },

  async 'configuration shows origins'(world) {
    const {page} = await world.page('serve', '#/health')
    const config = page.getByRole('region', {name: 'Configuration'})
    await config.getByLabel('Search the configuration').fill('hub.exposure')
    const row = config.getByRole('row').filter({hasText: 'hub.exposure'})
    await row.waitFor()
    hold(/direct/.test(await row.innerText()) && /docent\.toml/.test(await row.innerText()), await row.innerText())
    await config.getByLabel('Search the configuration').fill('server.port')
    hold(/flag|--port|command line/i.test(await config.getByRole('row').filter({hasText: 'server.port'}).first().innerText()), 'a flag has no origin')
    await config.getByLabel('Search the configuration').fill('')
  },

  async 'doctor runs'(world) {
    const {page} = await world.page('serve', '#/health')
    const doctor = page.getByRole('region', {name: 'Doctor'})
    await doctor.getByRole('table').waitFor({timeout: 30_000})
    hold(await doctor.getByRole('row').count() > 3, 'few checks')
    await doctor.getByRole('button', {name: 'Check again'}).click()
    await doctor.getByRole('table').waitFor({timeout: 30_000})
  },

  async 'other targets are pointed to docent serve'(world) {
    const {page} = await world.page('everything', '#/health')
    await page.getByText('docent serve --transport http').waitFor()
  },
}
