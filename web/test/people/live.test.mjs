// The live stream: many tabs share it, a hub that is away is said and heals without a
// reload, and a silent cluster has a picture of its own.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { open, settled } from '../lib/pages.mjs';
import { act, axle, closeBrowser, eventually, logIn, newContext, patience, stack } from '../lib/stack.mjs';

after(closeBrowser);

const state = (page) => page.locator('header [data-phase]').getAttribute('data-phase');
const live = (page, within) => eventually(async () => assert.equal(await state(page), 'live'), within);
// A page whose stream says nothing for 5 s, as of a hub that starts on a loaded machine, polls, and opens the stream again after a minute.
const again = 65_000 + patience;
const banner = (page) => page.getByText('Reconnecting.', { exact: true });
const row = (page, ...has) => has.reduce((rows, hasText) => rows.filter({ hasText }), page.locator('[role="row"]')).first();

// Its limit is above the sum of its waits: some forty, one after the other.
test('ten tabs over HTTP/1.1 work, with one stream', { timeout: 45 * patience }, async () => {
  const context = await newContext();
  const first = await logIn(context, stack.email, '/services');
  const pages = [first];
  while (pages.length < 10) {
    const page = await context.newPage();
    await page.goto('/services');
    pages.push(page);
  }
  await Promise.all(
    pages.map(async (page) => {
      await settled(page);
      await live(page);
    }),
  );
  // One worker has the stream for all. Over HTTP/1.1 a browser opens six connections to a
  // hub: ten streams would leave none for calls.
  const cdp = await context.browser().newBrowserCDPSession();
  const { targetInfos } = await cdp.send('Target.getTargets', { filter: [{ type: 'shared_worker' }] });
  assert.equal(targetInfos.length, 1);
  for (const page of pages) {
    // A call without a connection never has one; with one it waits for a processor at most.
    const answered = await page.evaluate(async (within) => (await fetch('/login/session', { signal: AbortSignal.timeout(within) })).status, patience);
    assert.equal(answered, 200, 'a tab has no connection left');
  }
  // A change is seen in each of them.
  await axle('services', 'pause', 'staging/cache', '--reason', 'ten tabs');
  try {
    await Promise.all(pages.map((page) => row(page, 'staging', 'cache').getByText('Paused').first().waitFor()));
  } finally {
    await axle('services', 'resume', 'staging/cache');
  }
  await context.close();
});

test('a hub that is away for 20 s: the banner, growing ages, recovery without a reload, no lost state', { timeout: 365_000 }, async () => {
  const context = await newContext();
  const page = await logIn(context, stack.email, '/services?sort=name');
  await settled(page);
  await live(page);
  await page.evaluate(() => (window.sameDocument = true));
  const age = () => row(page, 'prod-eu').locator('[role="gridcell"]').filter({ hasText: /Fresh|Stale/ }).innerText();
  const before = await age();
  await act({ do: 'hub', what: 'kill' });
  const killed = Date.now();
  let started = false;
  try {
    await banner(page).waitFor({ timeout: 35_000 });
    assert.ok(Date.now() - killed <= 35_000, 'the banner came late');
    assert.equal(await state(page), 'reconnecting');
    await page.getByText('The hub was last heard').waitFor();
    // The last known rows stay, and get older.
    assert.equal(await page.locator('[role="row"][data-id]').count(), 12);
    await eventually(async () => assert.notEqual(await age(), before));
    await eventually(() => assert.ok(Date.now() - killed >= 20_000), 30_000);
    await act({ do: 'hub', what: 'start' });
    started = true;
  } finally {
    if (!started) await act({ do: 'hub', what: 'start' });
  }
  // What changes at once after the start, possibly before this page is connected again.
  await axle('services', 'pause', 'staging/worker', '--reason', 'while the console is away');
  try {
    await banner(page).waitFor({ state: 'detached', timeout: 60_000 });
    await live(page, again);
    await row(page, 'staging', 'worker').getByText('Paused').first().waitFor();
    assert.equal(await page.evaluate(() => window.sameDocument), true, 'the page was loaded again');
    assert.equal((await page.evaluate(async () => (await fetch('/login/session')).status)), 200, 'the session is gone');
  } finally {
    await axle('services', 'resume', 'staging/worker');
  }
  await context.close();
});

test('a page that cannot be read says so, and reads again when the hub is back', { timeout: 180_000 }, async () => {
  const context = await newContext();
  const page = await logIn(context, stack.email, '/services/prod-eu/web');
  await settled(page);
  await act({ do: 'hub', what: 'kill' });
  try {
    await page.getByRole('link', { name: 'Repositories' }).first().click();
    // Not even the page itself can be loaded from the hub.
    await page.getByRole('heading', { level: 1, name: 'This page could not be loaded' }).waitFor({ timeout: 60_000 });
    await page.getByRole('button', { name: 'Retry' }).click();
    await page.getByText('The hub does not answer yet').first().waitFor();
    assert.equal(await page.locator('h1').count(), 1);
  } finally {
    await act({ do: 'hub', what: 'start' });
  }
  await page.getByRole('button', { name: 'Retry' }).click();
  await page.getByText('fleet', { exact: true }).first().waitFor();
  await context.close();
});

test('a cluster that falls silent is Stale, its services too, and the last report stays', { timeout: 300_000 }, async () => {
  const context = await newContext();
  const page = await logIn(context, stack.email, '/clusters');
  await settled(page);
  await act({ do: 'cluster', cluster: 'prod-us', what: 'silence' });
  // Three intervals of 10 s without a poll.
  await row(page, 'prod-us').getByText('Stale').first().waitFor({ timeout: 120_000 });
  await row(page, 'prod-eu').getByText('Fresh').first().waitFor();
  assert.equal(await banner(page).count(), 0, 'the hub itself is heard');
  await open(page, '/services?freshness=Stale');
  await eventually(async () => assert.equal(await page.locator('[role="row"][data-id]').count(), 4));
  await open(page, '/services/prod-us/web');
  await page.getByText('Stale').first().waitFor();
  await page.getByText('Healthy').first().waitFor();
  await open(page, '/clusters/prod-us/workloads');
  await page.getByText('Live view unavailable', { exact: false }).first().waitFor();
  await open(page, '/');
  await page.getByText('prod-us').first().waitFor();
  await eventually(async () => assert.match(await page.locator('main').innerText(), /1 .*stale/i));
  await context.close();
});
