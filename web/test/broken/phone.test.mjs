// What somebody does on a phone (A21): read the verdict, open a service that fails,
// approve a cluster. Nothing scrolls sideways, and a thumb hits what it aims at.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { open, settled, sideways } from '../lib/pages.mjs';
import { axle, closeBrowser, eventually, logIn, newContext } from '../lib/stack.mjs';

after(closeBrowser);

/** Controls that are smaller than 44 px on a phone; links inside of text are exempt. */
const small = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll('button, [role="button"], input:not([type="hidden"]), select, textarea, summary, a[href], [role="tab"], [role="menuitem"]')].flatMap((e) => {
      const box = e.getBoundingClientRect();
      const style = getComputedStyle(e);
      if (box.width <= 1 || box.height <= 1 || style.visibility === 'hidden' || e.closest('.visually-hidden, [inert]')) return [];
      const inText = e.tagName === 'A' && style.display === 'inline';
      // A checkbox with its label is one target, and so is the row that a control is in.
      const target = e.closest('label')?.getBoundingClientRect() ?? box;
      const reach = e.closest('[role="row"]')?.getBoundingClientRect();
      const height = reach && e.tagName === 'A' ? reach.height : target.height;
      return inText || (height >= 43.5 && Math.max(target.width, box.width) >= 24) ? [] : [`${e.tagName.toLowerCase()} “${(e.getAttribute('aria-label') ?? e.textContent ?? '').trim().slice(0, 30)}” ${Math.round(target.width)}×${Math.round(height)} ${e.className}`];
    }),
  );

async function fits(page, where) {
  assert.deepEqual(await sideways(page), [], `${where}: scrolls sideways`);
  assert.deepEqual(await small(page), [], `${where}: targets under 44 px`);
}

test('verdict, failing service and approval at 390 px', { timeout: 300_000 }, async () => {
  const context = await newContext({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  const page = await logIn(context);
  await settled(page);
  const verdict = await page.locator('h1').innerText();
  assert.match(verdict, /\d/, `the verdict is ${verdict}`);
  await fits(page, 'home');
  await page.getByRole('button', { name: 'Navigation' }).tap();
  await fits(page, 'navigation');
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Services' }).tap();
  await eventually(() => assert.equal(new URL(page.url()).pathname, '/services'));
  await settled(page);
  await fits(page, 'services');
  await page.getByRole('button', { name: 'Failed' }).first().tap();
  await settled(page);
  await page.getByRole('link', { name: 'forbidden' }).first().tap();
  await eventually(() => assert.equal(new URL(page.url()).pathname, '/services/prod/forbidden'));
  await settled(page);
  await page.getByText('the API server refuses', { exact: false }).first().waitFor();
  await fits(page, 'a failing service');
  await open(page, '/clusters/new-site/settings');
  await fits(page, 'a pending cluster');
  const approve = page.getByRole('button', { name: 'Approve new-site' });
  await approve.tap();
  await approve.waitFor({ state: 'detached' });
  assert.doesNotMatch(await axle('clusters', 'get', 'new-site', '-o', 'json'), /"pending": true/);
  await context.close();
});
