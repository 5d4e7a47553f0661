// A workload crashes: its last lines stand on its page and on its pod's, its log is one stream, and the
// store of logs is searched, by an address that shows the same lines again.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { bring, cluster, collect, crashed, remove, store } from '../lib/observed.mjs';
import { checkAxe, fitsAcross, tabOrder, watchPolicy } from '../lib/pages.mjs';
import { looks } from '../lib/shot.mjs';
import { closeBrowser, eventually, logIn, newContext, stack } from '../lib/stack.mjs';

const settled = { timeout: 300_000 };

before(async () => {
  await bring();
  await crashed();
});
after(remove);
after(closeBrowser);

test('the last lines stand on the page of the pod and of its workload, without a click', settled, async () => {
  const context = await newContext();
  await watchPolicy(context);
  const page = await logIn(context, stack.email, `/clusters/${cluster}/k8s/deployments.v1.apps/faults/faults`);
  const region = page.getByRole('region', { name: 'Last lines of failing containers' });
  await region.getByText('cannot open the shelf').first().waitFor();
  // While it runs, until it crashes again, it has none either.
  await eventually(async () => assert.equal(await page.getByRole('log').count(), 1, 'what runs beside it is well'));
  await looks(page, 'last-lines-workload');
  await checkAxe(page, 'last lines of a workload');
  const whole = region.getByRole('link', { name: /^faults-.* main$/ });
  const pod = (await whole.innerText()).split(' ')[0];

  await page.goto(`/clusters/${cluster}/k8s/pods.v1/faults/${pod}`);
  await region.getByText(/previous run: .*exit code 7/).waitFor();
  await page.getByRole('log', { name: `Last lines of ${pod} main` }).getByText('cannot open the shelf').first().waitFor();
  const link = page.getByRole('list', { name: 'Links', exact: true }).getByRole('link', { name: /Grafana/ });
  await link.waitFor();
  for (const width of [390, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    await fitsAcross(page, `${width} px`);
  }
  await looks(page, 'last-lines-pod');
  await checkAxe(page, 'last lines of a pod');

  // One click leads to the whole log at that time.
  await whole.click();
  await page.waitForURL(/\/logs\?c=main&previous=1&from=.*&to=/);
  await page.getByRole('log').getByText('cannot open the shelf').first().waitFor();
  await page.getByText('the whole range').waitFor();
  assert.deepEqual(await page.evaluate(() => window.policyViolations), []);
  await context.close();
});

test('the log of a workload is one stream that the hub merges, and goes on', settled, async () => {
  const context = await newContext();
  await watchPolicy(context);
  const page = await logIn(context, stack.email, `/clusters/${cluster}/k8s/deployments.v1.apps/faults/faults/logs`);
  // Its first view has asked before its reload is counted.
  await page.getByText('following', { exact: true }).waitFor();
  const calls = [];
  page.on('request', (r) => /ClusterAPI\/(SearchLogs|ReadLogs)$/.test(r.url()) && calls.push(r.url().split('/').pop()));
  await page.reload();
  await page.getByRole('log').getByText('cannot open the shelf').first().waitFor();
  await page.getByText('following', { exact: true }).waitFor();
  assert.deepEqual(calls, ['SearchLogs'], 'two containers');
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('button', { name: /Follow$/ }).click();
  await page.getByRole('button', { name: 'Pause' }).waitFor();
  await page.getByRole('link', { name: 'Tail crashes' }).waitFor();
  await looks(page, 'logs-live');
  await checkAxe(page, 'the log of a workload');
  assert.ok((await tabOrder(page)).every((e) => e.visible), 'each stop of Tab shows');
  for (const width of [390, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    await fitsAcross(page, `${width} px`);
  }
  await page.getByRole('link', { name: 'Tail crashes' }).click();
  await page.waitForURL(/since=n50&c=main&follow=0/);
  await page.getByText('read to its end').waitFor();
  assert.equal(await page.getByLabel('Range').inputValue(), 'n50');
  assert.deepEqual(await page.evaluate(() => window.policyViolations), []);
  await context.close();
});

test('the store is searched in the console, and an address shows the same lines again', settled, async () => {
  await collect();
  const context = await newContext({ acceptDownloads: true });
  await watchPolicy(context);
  const page = await logIn(context, stack.email, `/clusters/${cluster}`);
  await page.getByRole('link', { name: 'Search its store of logs' }).click();
  await page.waitForURL(`**/clusters/${cluster}/logs`);
  assert.equal(await page.getByRole('navigation', { name: 'Cluster' }).locator('[aria-current=page]').innerText(), 'Logs');
  const log = page.getByRole('log', { name: /^Log of / });
  const texts = async () => (await log.locator('[data-level]').allInnerTexts()).map((l) => l.replaceAll('\n', ' '));
  const found = (want) =>
    eventually(async () => {
      const all = await texts();
      assert.ok(all.length > 0 && all.every((l) => want.test(l)), all.join('\n'));
    });
  await log.getByText('cannot open the shelf').first().waitFor();
  await looks(page, 'logs-search');
  await checkAxe(page, 'a search of a store');
  assert.ok((await tabOrder(page)).every((e) => e.visible), 'each stop of Tab shows');
  for (const width of [390, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    await fitsAcross(page, `${width} px`);
  }
  // By words, by matchers, by both.
  await page.getByLabel('Lines with').fill("'cannot OPEN the shelf'".toLowerCase());
  await page.getByLabel('Namespace').fill('faults');
  await page.keyboard.press('Enter');
  await page.waitForURL(/namespace=faults/);
  await found(/faults\/faults-\S+\/main.*cannot open the shelf/);
  await page.getByLabel('Namespace').fill('');
  await page.getByLabel('Lines with').fill('');
  await page.getByLabel('Matchers and filters').fill('{namespace="neighbour"} |= "shelf"');
  await page.keyboard.press('Enter');
  await found(/neighbour\//);
  // What is no query is said by the hub, and stays until it is one.
  await page.getByLabel('Matchers and filters').fill('sum(rate({a="b"}[5m]))');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText("Can't search the store").waitFor();
  await looks(page, 'logs-search-refused');
  await page.getByLabel('Matchers and filters').fill('');
  await page.keyboard.press('Enter');
  // The filter that a service brought.
  await page.getByLabel('Saved filter').selectOption('faults/shelf');
  await page.waitForURL(/filter=faults/);
  await found(/main.*cannot open the shelf/);
  // What stands around a line.
  await log.getByRole('button', { name: /^Lines around/ }).first().click();
  await page.getByRole('region', { name: 'Lines around a match' }).getByText('cannot open the shelf').first().waitFor();
  await page.getByRole('button', { name: 'Close' }).click();
  // The same lines for whoever opens the address, also when more came since.
  await page.getByRole('button', { name: 'Keep this range' }).click();
  await page.waitForURL(/from=.*to=/);
  await found(/cannot open the shelf/);
  // Read anew, and to its end: a search shows what it has while it goes on.
  await page.reload();
  await page.getByText('read to its end', { exact: true }).waitFor();
  const before = await texts();
  assert.ok(before.length > 0);
  assert.equal(await page.getByLabel('Range').inputValue(), 'fixed');
  await store([{ time: new Date().toISOString(), text: 'cannot open the shelf either', namespace: 'faults', pod: 'faults-more', container: 'main' }]);
  const other = await context.newPage();
  await other.goto(page.url());
  const again = other.getByRole('log', { name: /^Log of / });
  await again.getByText('cannot open the shelf').first().waitFor();
  await eventually(async () => assert.deepEqual((await again.locator('[data-level]').allInnerTexts()).map((l) => l.replaceAll('\n', ' ')), before));
  await other.close();
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download' }).click()]);
  assert.equal(readFileSync(await download.path(), 'utf8').trim().split('\n').length, before.length);
  // A tail of the store has what comes.
  await page.goto(`/clusters/${cluster}/logs?follow=1&text=comes%20later`);
  await page.getByText('following', { exact: true }).waitFor();
  await eventually(async () => {
    await store([{ time: new Date().toISOString(), text: 'comes later', namespace: 'faults', pod: 'faults-later', container: 'main' }]);
    assert.match((await texts()).join('\n'), /faults\/faults-later\/main.*comes later/);
  });
  assert.deepEqual(await page.evaluate(() => window.policyViolations), []);
  await context.close();
});
