// Logs a browser in to a hub of `cmd/dev seed` and keeps its cookies in a file:
//   node test/login.mjs http://127.0.0.1:31770 DATA_DIR path/to/axle-hub out.json
import { execFileSync } from 'node:child_process'
import { chromium } from 'playwright-core'

const [hub, data, program, out, user = 'admin@example.test'] = process.argv.slice(2)
const password = 'correct horse battery staple'
const said = execFileSync(program, ['admin', 'reset', user, '--data-dir', data, '--external-url', hub], { encoding: 'utf8' })
const reset = said.match(/https?:\/\/\S+/)[0]
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
const context = await browser.newContext()
const page = await context.newPage()
await page.goto(reset)
await page.fill('input[name=password]', password)
await page.fill('input[name=again]', password)
await page.click('button[type=submit], form button')
await page.goto(`${hub}/login`)
await page.fill('input[name=email]', user)
await page.fill('input[name=password]', password)
await page.click('form button[type=submit], form button')
await page.waitForURL((url) => url.pathname !== '/login')
await context.storageState({ path: out })
await browser.close()
