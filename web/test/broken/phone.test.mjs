// What somebody does on a phone (A21): read the verdict, open a service that fails,
// approve a cluster. Nothing scrolls sideways, and a thumb hits what it aims at.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { fitsAcross, follow, settled, small } from '../lib/pages.mjs';
import { always, live, ofService } from '../lib/routes.mjs';
import { axle, closeBrowser, eventually, logIn, newContext } from '../lib/stack.mjs';

after(closeBrowser);

/** Taps a control of the flow, which is 44 px high; a link in a row, as high as the row. */
async function tap(locator, what) {
  const height = await locator.evaluate((e) => (e.closest('[role="row"]') ?? e).getBoundingClientRect().height);
  assert.ok(height >= 43.5, `${what} is ${height} px high`);
  await locator.tap();
}

async function fits(page, where) {
  assert.deepEqual(await small(page), [], `${where}: a thumb misses it`);
  await fitsAcross(page, `${where}`);
}

test('verdict, failing service and approval at 390 px', { timeout: 300_000 }, async () => {
  const context = await newContext({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  const page = await logIn(context);
  await settled(page);
  const verdict = await page.locator('h1').innerText();
  assert.match(verdict, /\d/, `the verdict is ${verdict}`);
  await fits(page, 'home');
  await tap(page.getByRole('button', { name: 'Navigation' }), 'the button of the navigation');
  await fits(page, 'navigation');
  await tap(page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Services' }), 'a link of the navigation');
  await eventually(() => assert.equal(new URL(page.url()).pathname, '/services'));
  await settled(page);
  await fits(page, 'services');
  await tap(page.getByRole('button', { name: 'Failed' }).first(), 'a preset');
  // The list before has this row too, in elements that are used again for other rows.
  await page.getByRole('button', { name: 'Failed', pressed: true }).first().waitFor();
  await settled(page);
  await tap(page.getByRole('link', { name: 'forbidden' }).first(), 'a row');
  await eventually(() => assert.equal(new URL(page.url()).pathname, '/services/prod/forbidden'));
  await settled(page);
  await page.getByText('the API server refuses', { exact: false }).first().waitFor();
  await fits(page, 'a failing service');
  await follow(page, '/clusters/new-site/settings');
  await fits(page, 'a pending cluster');
  const approve = page.getByRole('button', { name: 'Approve new-site' });
  await tap(approve, 'the approval');
  await approve.waitFor({ state: 'detached' });
  assert.doesNotMatch(await axle('clusters', 'get', 'new-site', '-o', 'json'), /"pending": true/);
  await context.close();
});

test('a thumb hits every control of the pages that a phone is used for', { timeout: 300_000 }, async (t) => {
  const context = await newContext({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  const page = await logIn(context);
  const overviews = ['prod', 'lost'].map((name) => `/clusters/${name}`);
  for (const path of [...always, ...overviews, '/clusters?view=heat', ...live('prod'), ...ofService('prod', 'crash-loop'), '/services?verdict=Failed', '/repositories/goes-away']) {
    await t.test(path, async () => {
      await follow(page, path);
      await fits(page, path);
    });
  }
  await context.close();
});
