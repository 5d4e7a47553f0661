// Many services at once (A13), by keyboard, and finding one among many (A20).
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { chord } from '../lib/keyboard.mjs';
import { alert, contractOf, press } from '../lib/overlays.mjs';
import { settled } from '../lib/pages.mjs';
import { axle, closeBrowser, eventually, hub, logIn, newContext, stack } from '../lib/stack.mjs';

after(closeBrowser);

const number = (text) => Number(/[\d,]+/.exec(text)?.[0].replaceAll(',', ''));
const total = async (page) => Number(await page.locator('[role="grid"]').first().getAttribute('aria-rowcount')) - 1;

// A paused service is not synced.
const failing = ['edge-00003/service-03', 'edge-00030/service-03', 'edge-00299/service-03'];

test('all that match are synced as one operation: progress is exact and survives a reload, what failed is tried again', { timeout: 600_000 }, async () => {
  for (const one of failing) await axle('services', 'pause', one, '--reason', 'a test');
  const context = await newContext();
  const page = await logIn(context, stack.email, '/services?q=service-03');
  await settled(page);
  const matching = await total(page);
  assert.ok(matching >= 100, `only ${matching} services match`);
  await page.locator('[role="row"][data-index="0"]').focus();
  await page.keyboard.press('x');
  const bar = page.getByRole('region', { name: 'Selection' });
  await bar.getByText('1 selected').waitFor();
  await bar.getByRole('button', { name: /^Select all/ }).focus();
  assert.equal(number((await bar.getByRole('button', { name: /^Select all/ }).innerText()).replace('Select all', '')), matching);
  await page.keyboard.press('Enter');
  await bar.getByText('that match', { exact: false }).first().waitFor();
  await bar.getByRole('button', { name: 'Sync' }).focus();
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Dry run:').waitFor();
  assert.equal(number((await dialog.getByText('Dry run:').innerText()).replace('Dry run:', '')), matching, 'the dry run names as many as the list');
  await dialog.getByRole('button', { name: 'Sync', exact: true }).focus();
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'Follow' }).focus();
  await page.keyboard.press('Enter');
  await eventually(async () => assert.match(new URL(page.url()).pathname, /^\/operations\/.+/));
  await settled(page);
  // A reload in the middle reads the same operation from the hub.
  const here = page.url();
  await page.reload();
  await settled(page);
  assert.equal(page.url(), here);
  const ended = () => eventually(async () => assert.match(await page.locator('[role="status"]').filter({ hasText: 'The operation ended' }).innerText(), /ended: \w+/), 240_000);
  await ended();
  const share = page.getByRole('group', { name: 'Which services' });
  const counted = async (word) => number((await share.getByRole('button', { name: new RegExp(`^${word}`) }).innerText()).replace(word, '') || '0');
  assert.equal(await counted('All'), matching, 'all that matched are in it');
  assert.equal(await counted('Failed'), failing.length, 'exactly the paused ones failed');
  await share.getByRole('button', { name: /^Failed/ }).focus();
  await page.keyboard.press('Enter');
  await eventually(async () => assert.equal(await total(page), failing.length));
  await page.getByText('is paused; resume it first', { exact: false }).first().waitFor();
  for (const one of failing) await axle('services', 'resume', one);
  await page.getByRole('button', { name: `Retry ${failing.length} failed services` }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').getByRole('button', { name: 'Retry', exact: true }).focus();
  await page.keyboard.press('Enter');
  await eventually(() => assert.notEqual(page.url().split('?')[0], here.split('?')[0]));
  // The operation before stands there until the page has this one.
  await eventually(async () => assert.equal(await counted('All'), failing.length));
  await ended();
  await eventually(async () => assert.equal(await counted('Failed'), 0));
  await context.close();
});

test('the palette, a filter, a service, and back: the row and the place are those from before', { timeout: 300_000 }, async () => {
  const context = await newContext();
  const page = await logIn(context);
  await settled(page);
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.type('edge-00123/service-04');
  const found = page.getByRole('menuitem', { name: /service-04/ }).or(page.getByRole('option', { name: /service-04/ })).first();
  await found.waitFor();
  await page.keyboard.press('Enter');
  await eventually(() => assert.equal(new URL(page.url()).pathname, '/services/edge-00123/service-04'));
  await settled(page);
  await chord(page, 'g', 's');
  await eventually(() => assert.equal(new URL(page.url()).pathname, '/services'));
  // The page before is there until this one has its rows.
  let before = 0;
  await eventually(async () => assert.ok((before = await total(page)) > 1000, 'not all services are listed'));
  await page.keyboard.press('/');
  await page.keyboard.type('service-05');
  // What is typed filters in steps, and each begins a selection anew.
  await eventually(() => assert.equal(new URL(page.url()).searchParams.get('q'), 'service-05'));
  await eventually(async () => assert.ok((await total(page)) < before, 'the filter is not applied'));
  await settled(page);
  await page.keyboard.press('Tab');
  await page.locator('[role="row"][data-index="0"]').focus();
  for (let n = 0; n < 3; n++) await page.keyboard.press('PageDown');
  await page.keyboard.press('x');
  const place = () =>
    page.evaluate(() => {
      const grid = document.querySelector('[role="grid"]');
      const active = document.querySelector('[role="row"][data-active]');
      return { top: grid.scrollTop, active: active?.dataset.id, selected: [...document.querySelectorAll('[role="row"][aria-selected="true"]')].map((r) => r.dataset.id) };
    });
  await page.getByRole('region', { name: 'Selection' }).getByText('1 selected').waitFor();
  // The bar of the selection takes its height from the list, which keeps the row in sight.
  const shown = () =>
    page.evaluate(() => {
      const list = document.querySelector('[role="grid"]').getBoundingClientRect();
      const row = document.querySelector('[role="row"][data-active]').getBoundingClientRect();
      const head = document.querySelector('[role="columnheader"]').getBoundingClientRect();
      return { above: head.bottom - row.top, below: row.bottom - list.bottom };
    });
  await eventually(async () => {
    const { above, below } = await shown();
    assert.ok(above <= 1 && below <= 1, `the selected row is hidden: ${above} px above the list, ${below} px below it`);
  });
  const left = await place();
  assert.ok(left.top > 0, 'the list is not scrolled');
  assert.equal(left.selected.length, 1);
  const list = page.url();
  await page.keyboard.press('Enter');
  await eventually(() => assert.match(new URL(page.url()).pathname, /^\/services\/.+\/service-05$/));
  await settled(page);
  await page.goBack();
  await eventually(() => assert.equal(page.url(), list));
  await settled(page);
  await eventually(async () => assert.deepEqual(await place(), left));
  await context.close();
});

test('End goes to the last row, Home back to the first', { timeout: 120_000 }, async () => {
  const context = await newContext();
  const page = await logIn(context, stack.email, '/services?sort=name');
  await settled(page);
  const last = (await total(page)) - 1;
  await page.locator('[role="row"][data-index="0"]').focus();
  await page.keyboard.press('End');
  await page.locator(`[role="row"][data-index="${last}"]:not([data-id=""])`).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.dataset.index), String(last));
  await page.keyboard.press('Home');
  await eventually(async () => assert.equal(await page.evaluate(() => document.activeElement.dataset.index), '0'));
  assert.ok((await page.evaluate(() => document.querySelectorAll('*').length)) <= 1500, 'more is drawn than what shows');
  await context.close();
});

// Only here an operation runs for long enough to be asked about.
contractOf(test, 'the question before an operation is cancelled', async () => {
  // Of the first thousand clusters: an operation has 20,000 services at most.
  const all = { action: 'sync', filter: { text: 'edge-00' }, reason: 'a test' };
  const { total } = await hub('Operations/Start', { ...all, dryRun: true });
  const { id } = await hub('Operations/Start', { ...all, expected: total });
  after(() => hub('Operations/Cancel', { id }));
  return [{ what: 'cancel', path: `/operations/${id}`, as: '/operations/running', ...alert, show: press('Cancel') }];
});
