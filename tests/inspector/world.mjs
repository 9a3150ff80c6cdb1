// State shared by the cases: docent processes on the test servers, each started once, and a page on each of them.

import {until} from './report.mjs'

export class World {
  #started = new Map()
  #pages = new Map()

  constructor({place, browser}) {
    Object.assign(this, {place, browser})
  }

  // Creates the value of a name once.
  once(name, make) {
    if (!this.#started.has(name)) this.#started.set(name, make())
    return this.#started.get(name)
  }

  // `docent inspect` on docent itself, on server-everything, or on the hostile server.
  target(name) {
    const {place} = this
    const targets = {
      docent: () => place.inspect('--root', place.root),
      everything: () => place.inspect('--', ...place.everything),
      hostile: () => place.inspect('--', ...place.scripted('hostile.mjs')),
      serve: () => this.#serve(),
    }
    return this.once(name, targets[name])
  }

  // `docent serve` with downstream servers; a file contains the tool description of one of them.
  #serve() {
    const {place} = this
    const described = this.described = place.write('described.txt', 'Says hello.\n')
    const config = place.configuration({everything: place.everything, hostile: place.scripted('hostile.mjs'),
      changing: place.scripted('changing.mjs', described)})
    return place.serve({config})
  }

  // A new page on a target.
  async open(name, options) {
    const {address} = typeof name === 'string' ? await this.target(name) : name
    const opened = await this.browser.open(address, options)
    await opened.ready()
    return opened
  }

  // The shared page on a target, at this address.
  async page(name, hash = '#/tools') {
    if (!this.#pages.has(name)) this.#pages.set(name, await this.open(name, {hash}))
    const opened = this.#pages.get(name)
    await opened.go(hash)
    return opened
  }

  // Runs a case and fails on any forbidden page action; a page left in a failed state is not reused.
  async hold(body) {
    try {
      await body(this)
      for (const opened of this.#pages.values()) opened.unhurt()
    } catch (problem) {
      await Promise.all([...this.#pages.values()].map((opened) => opened.close().catch(() => {})))
      this.#pages.clear()
      throw problem
    }
  }

  until = until
}
