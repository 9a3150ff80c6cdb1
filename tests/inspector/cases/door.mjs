// Access control: the page calls only its own origin, and requests from other pages are rejected.

import {get} from 'node:http'
import {hold, same} from '../report.mjs'

// docent's response to a request with these headers.
function ask(address, path, headers = {}) {
  const url = new URL(path, address)
  return new Promise((done, failed) => {
    get({host: url.hostname, port: url.port, path: url.pathname + url.search, headers}, (answer) => {
      answer.resume()
      done({status: answer.statusCode, headers: answer.headers})
    }).on('error', failed)
  })
}

export default {
  async 'no request leaves the page\'s own origin'(world) {
    const opened = await world.browser.open((await world.target('docent')).address)
    const hosts = new Set()
    opened.page.on('request', (request) => hosts.add(new URL(request.url()).host || new URL(request.url()).protocol))
    await opened.page.reload()
    await opened.ready()
    for (const view of ['resources', 'prompts', 'search', 'repository', 'traffic', 'errors', 'health', 'tools']) await opened.go(`#/${view}`)
    same([...hosts].filter((host) => host !== 'data:'), [new URL(opened.address).host], 'hosts')
    opened.unhurt()
    await opened.close()
  },

  async 'the content policy is strict'(world) {
    const {address} = await world.target('docent')
    const {headers} = await ask(address, '')
    const policy = headers['content-security-policy']
    hold(policy.includes("default-src 'none'") && policy.includes("frame-ancestors 'none'"), policy)
    hold(!/unsafe|\*|https?:/.test(policy), policy)
    same([headers['x-content-type-options'], headers['referrer-policy']], ['nosniff', 'no-referrer'], 'headers')
  },

  async 'foreign requests are rejected'(world) {
    const {address} = await world.target('docent')
    const {host, origin} = new URL(address)
    same((await ask(address, 'api/about')).status, 200, 'the page itself')
    for (const [why, path, headers] of [
      ['another token', '../0000/api/about', {}],
      ['another origin', 'api/about', {origin: 'http://pwned.invalid'}],
      ['the origin of a sandboxed frame', 'api/about', {origin: 'null'}],
      ['another host', 'api/about', {host: 'pwned.invalid'}],
      ['another page', 'api/about', {origin, 'sec-fetch-site': 'cross-site'}],
    ]) {
      const {status} = await ask(address, path, {host, ...headers})
      hold(status === 403 || status === 404, `${why}: status ${status}`)
    }
  },
}
