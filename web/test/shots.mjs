// Takes PNGs of pages in both themes and two widths, and runs axe on each:
//   node test/shots.mjs BASE_URL COOKIES.json OUT_DIR /path [/path…]
// AXLE_SHOTS=dark-1440 takes only one kind. Prints console errors, violations of
// the page's policy, and axe's findings; fails when there is one.
import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { chromium } from 'playwright-core'

const [base, cookies, out, ...paths] = process.argv.slice(2)
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
const kinds = [
  ['dark', 1440, 900],
  ['light', 1440, 900],
  ['dark', 390, 844],
  ['light', 390, 844],
].filter(([theme, width]) => !process.env.AXLE_SHOTS || process.env.AXLE_SHOTS.split(',').includes(`${theme}-${width}`))

mkdirSync(out, { recursive: true })
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
let bad = 0
const say = (...words) => {
  bad++
  console.log(...words)
}
for (const [theme, width, height] of kinds) {
  const state = JSON.parse(readFileSync(cookies, 'utf8'))
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, locale: 'en-GB', timezoneId: 'UTC', reducedMotion: 'reduce', hasTouch: width < 500, isMobile: width < 500, storageState: state, bypassCSP: false })
  for (const path of paths) {
    const [url, keys] = path.split(' ')
    const page = await context.newPage()
    const name = `${(url.replace(/[^a-z0-9]+/gi, '_').replace(/^_|_$/g, '') || 'home') + (keys ? `_${keys.replace(/[^a-z0-9]+/gi, '_')}` : '')}-${theme}-${width}`
    page.on('console', (m) => !m.text().startsWith('Failed to load resource') && (m.type() === 'error' || m.type() === 'warning') && say(`${name}: console ${m.type()}: ${m.text()}`))
    page.on('pageerror', (e) => say(`${name}: ${e}`))
    await page.goto(base + url)
    await page.waitForLoadState('load')
    await page.waitForSelector('h1')
    await page.evaluate(() => document.fonts.ready)
    await page.waitForTimeout(1_200)
    for (const key of keys ? keys.split(',') : []) {
      await page.keyboard.press(key)
      await page.waitForTimeout(350)
    }
    await page.screenshot({ path: `${out}/${name}.png` })
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
    const inner = await page.evaluate(() => { const m = document.getElementById('main'); return m ? m.scrollWidth - m.clientWidth : 0 })
    if (wide > 0 || inner > 0) say(`${name}: scrolls sideways by ${wide || inner} px`)
    const h1 = await page.locator('h1').count()
    if (h1 !== 1) say(`${name}: ${h1} h1`)
    // Evaluated by the browser's debugger, so the policy stays as it is.
    await page.evaluate(axe)
    const found = await page.evaluate((values) => window.axe.run(document, { runOnly: { type: 'tag', values } }).then((r) => r.violations), tags)
    for (const v of found) say(`${name}: axe ${v.id}: ${v.help}\n${v.nodes.slice(0, 4).map((n) => `    ${n.html.slice(0, 160)}\n      ${n.failureSummary.split('\n').slice(1, 3).join(' ')}`).join('\n')}`)
    await page.close()
  }
  await context.close()
}
await browser.close()
if (bad) process.exit(1)
console.log('no findings')
