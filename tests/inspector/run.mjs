// Drives the inspector's page in Chromium: `node run.mjs --docent PATH --modules DIR [--only WORD]`. See README.md.

import {readdirSync} from 'node:fs'
import {parseArgs} from 'node:util'
import {Browser} from './browser.mjs'
import {Place} from './place.mjs'
import {Report} from './report.mjs'
import {World} from './world.mjs'

const {values} = parseArgs({options: {docent: {type: 'string'}, modules: {type: 'string'}, only: {type: 'string'}}})
if (!values.docent || !values.modules) throw new Error('--docent and --modules are required')

const report = new Report(values.only)
const place = new Place(values)
const browser = await Browser.launch(values.modules)
const world = new World({place, browser})
try {
  for (const file of readdirSync(new URL('cases/', import.meta.url)).filter((name) => name.endsWith('.mjs')).sort()) {
    const {default: cases} = await import(`./cases/${file}`)
    for (const [name, body] of Object.entries(cases)) {
      await report.check(`${file.replace('.mjs', '')} ${name}`, () => world.hold(body))
    }
  }
} finally {
  await browser.end()
  place.end()
}
process.exit(report.end() ? 0 : 1)
