// Takes pictures of every route of a stack, in dark and light, wide and narrow, into
// OUT. `make screenshots` runs it for the profiles small (loaded), empty, broken and real (pods), and
// somebody looks at them: docs/ui-review.md.
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { settled } from './lib/pages.mjs';
import { always, live, ofCluster, ofService } from './lib/routes.mjs';
import { closeBrowser, logIn, newContext, stack } from './lib/stack.mjs';

const out = process.env.OUT;
if (!out) throw new Error('OUT is not set: the folder for the pictures');
mkdirSync(out, { recursive: true });

const routes = {
  empty: always,
  small: [...always, ...ofCluster('prod-eu'), ...live('prod-eu'), ...ofService('prod-eu', 'web'), '/repositories/fleet', '/no/such/page', '/clusters?view=heat', '/#palette', '/services#keys'],
  broken: [
    ...always,
    ...['prod', 'lost', 'new-site', 'planned'].map((name) => `/clusters/${name}`),
    ...live('prod'),
    ...['forbidden', 'prune-held', 'drifted', 'crash-loop', 'unknown-ref', 'on-hold', 'rolled-back', 'bad-yaml'].map((name) => `/services/prod/${name}`),
    ...ofService('prod', 'crash-loop').slice(1),
    '/repositories/goes-away',
    '/services?verdict=Failed',
    '/services?q=nothing-matches-this',
    '/clusters?view=heat',
    '/clusters/prod/settings',
    '/clusters/new-site/settings',
  ],
  // What only a tunnel shows.
  real: [
    ...ofCluster('edge-1'),
    ...live('edge-1'),
    '/clusters/edge-1/k8s/pods.v1',
    ...['summary', 'yaml', 'events', 'logs', 'related'].map((tab) => `/clusters/edge-1/k8s/deployments.v1.apps/talker/talker/${tab}`),
    ...ofService('edge-1', 'talker'),
  ],
}[stack.profile];
if (!routes) throw new Error(`no routes for the profile ${stack.profile}`);

// What lies above a page, and the key that opens it.
const keys = { palette: 'Control+k', keys: '?' };

const nameOf = (path) => path.replace(/^\//, '').replace(/[^a-z0-9-]+/gi, '_') || 'home';

/** A hash of what a page says, without what differs from run to run. */
async function hashOf(page) {
  const said = await page.locator('body').ariaSnapshot();
  const steady = said.replace(/[0-9a-f]{7,}/g, 'HASH').replace(/\d+/g, 'N');
  return createHash('sha256').update(steady).digest('hex').slice(0, 8);
}

const index = [];
// LOOKS and WIDTHS choose some.
const looks = (process.env.LOOKS ?? 'dark,light').split(',');
const widths = (process.env.WIDTHS ?? '1440,390').split(',').map(Number);
for (const colorScheme of looks) {
  for (const width of widths) {
    const context = await newContext({ colorScheme, viewport: { width, height: width === 390 ? 844 : 900 }, hasTouch: width === 390 });
    const page = await logIn(context);
    for (const path of routes) {
      await page.goto(path);
      let problem = '';
      await settled(page, 5000).catch((error) => (problem = String(error).split('\n')[0]));
      await page.evaluate(() => document.fonts.ready);
      // A part whose code is loaded late begins to load only now.
      await page.waitForTimeout(300);
      await settled(page, 5000).catch((error) => (problem = String(error).split('\n')[0]));
      const key = keys[path.split('#')[1]];
      if (key) {
        await page.keyboard.press(key);
        // On a touch screen a dialog with a field is hidden until the keyboard had its time.
        await page.waitForFunction(() => {
          const dialog = document.querySelector('[role="dialog"]');
          let shows = dialog !== null;
          for (let e = dialog; e; e = e.parentElement) shows &&= getComputedStyle(e).opacity === '1';
          window.shownSince = shows ? (window.shownSince ?? performance.now()) : undefined;
          return shows && performance.now() - window.shownSince > 1000;
        });
      }
      const file = `${stack.profile}-${nameOf(path)}-${colorScheme}-${width}.png`;
      await page.screenshot({ path: join(out, file) });
      index.push({ file, path, profile: stack.profile, look: colorScheme, width, hash: await hashOf(page), problem });
    }
    await context.close();
  }
}
writeFileSync(join(out, `${stack.profile}.json`), JSON.stringify(index, null, 1));
// One sheet a profile, for a first look.
const sheet = await (await newContext({ viewport: { width: 2000, height: 1200 } })).newPage();
for (const width of widths) {
  const shown = index.filter((one) => one.width === width && one.look === looks[0]);
  const size = width === 390 ? 240 : 480;
  writeFileSync(
    join(out, `${stack.profile}-sheet-${width}.html`),
    `<!doctype html><body style="margin:8px;background:#444;color:#fff;font:12px sans-serif">${shown
      .map((one) => `<figure style="display:inline-block;margin:4px;width:${size}px"><img src="${one.file}" width="${size}"><figcaption>${one.path}</figcaption></figure>`)
      .join('')}`,
  );
  await sheet.goto(`file://${join(out, `${stack.profile}-sheet-${width}.html`)}`);
  await sheet.screenshot({ path: join(out, `${stack.profile}-sheet-${width}.png`), fullPage: true });
}
await closeBrowser();
for (const one of index.filter((i) => i.problem)) console.log(`${one.file}: ${one.problem}`);
console.log(`${index.length} pictures of the profile ${stack.profile} in ${out}`);
