// Resources and prompts: listing, reading, completion, rendering, and change notifications.

import {hold, same} from '../report.mjs'

const options = (page, name) => page.getByRole('listbox', {name, exact: true}).getByRole('option')

export default {
  async 'resources are listed, searched and read'(world) {
    const {page} = await world.page('everything', '#/resources')
    await options(page, 'Resources').filter({hasText: 'architecture'}).first().waitFor()
    await page.getByRole('searchbox', {name: 'Search resources'}).fill('architecture')
    await options(page, 'Resources').first().click()
    await page.getByRole('group', {name: 'Contents'}).getByText('Markdown', {exact: true}).waitFor()
    hold(await page.getByRole('group', {name: 'Contents'}).getByRole('heading').count() > 0, 'no heading in the Markdown')
  },

  async 'docent has resources of its own'(world) {
    const {page} = await world.page('docent', '#/resources')
    await options(page, 'Resources').first().waitFor()
    hold(await options(page, 'Resources').filter({hasText: 'template'}).count() > 0, 'no templates')
    await (await world.page('docent')).go(`#/resources/${encodeURIComponent('ast://project/src/ledger.py')}`)
    await page.getByRole('group', {name: 'Contents'}).getByText('Ledger').first().waitFor()
  },

  async 'a template is completed and read'(world) {
    const {page} = await world.page('everything', '#/resources')
    await page.getByRole('searchbox', {name: 'Search resources'}).fill('dynamic text')
    await options(page, 'Resources').filter({hasText: 'Dynamic Text'}).click()
    const field = page.getByRole('combobox', {name: 'resourceId'})
    await field.fill('7')
    await page.getByRole('listbox', {name: 'Values for resourceId'}).getByRole('option', {name: '7'}).waitFor()
    await field.press('ArrowDown')
    await field.press('Enter')
    same(await field.inputValue(), '7', 'completed value')
    same(await page.getByRole('status').filter({hasText: 'demo://resource/dynamic/text/7'}).count(), 1, 'the address that it makes')
    await field.press('Control+Enter')
    await page.getByText('Resource 7: This is a plaintext resource').waitFor()
  },

  async 'a change is shown live'(world) {
    const {page} = await world.page('hostile', `#/resources/${encodeURIComponent('hostile://page')}`)
    await page.getByRole('button', {name: 'Subscribe'}).click()
    await page.getByText(/^Changed at/).waitFor()
    await page.getByRole('button', {name: 'Subscribed'}).click()
    await page.getByRole('button', {name: 'Subscribe', exact: true}).waitFor()
  },

  async 'a missing resource is reported'(world) {
    const {page} = await world.page('everything', `#/resources/${encodeURIComponent('demo://nowhere')}`)
    await page.getByRole('alert').getByText('Cannot read the resource').waitFor()
  },

  async 'prompts are listed and made'(world) {
    const {page} = await world.page('everything', '#/prompts')
    await options(page, 'Prompts').filter({hasText: /simple/i}).first().click()
    await page.getByRole('region', {name: 'Messages'}).getByText('1 message').waitFor()
    same(await page.getByRole('region', {name: 'Messages'}).getByText('user', {exact: true}).count(), 1, 'roles')
  },

  async 'arguments of a prompt are completed in context'(world) {
    const {page} = await world.page('everything', '#/prompts/completable-prompt')
    const department = page.getByRole('combobox', {name: /department/})
    await department.fill('Sal')
    await page.getByRole('option', {name: 'Sales'}).click()
    await page.getByRole('combobox', {name: /name/}).fill('D')
    await page.getByRole('option', {name: 'David'}).click()
    await page.getByRole('button', {name: 'Get messages'}).click()
    await page.getByText('Please promote David to the head of the Sales team.').waitFor()
    await page.reload()
    await page.getByRole('combobox', {name: /department/}).waitFor()
    same(await page.getByRole('combobox', {name: /department/}).inputValue(), 'Sales', 'kept after a reload')
  },

  async 'a prompt without required arguments is not requested'(world) {
    const {page} = await world.page('everything', '#/prompts/args-prompt')
    const city = page.getByLabel(/^city/)
    await city.fill('')
    await page.getByRole('button', {name: 'Get messages'}).click()
    await page.getByText('city is required.').waitFor()
    same(await city.getAttribute('aria-invalid'), 'true', 'the field is marked')
  },

  async 'a search without matches says so'(world) {
    const {page} = await world.page('serve', '#/prompts')
    await page.getByRole('searchbox', {name: 'Search prompts'}).fill('there is no such prompt')
    await page.getByText('Nothing matches').waitFor()
  },
}
