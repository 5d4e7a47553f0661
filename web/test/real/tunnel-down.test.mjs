// Only the tunnel of one cluster is down: its agent polls, reports and delivers as
// before. The console says so where it would read the cluster live, shows what was last
// reported, and is live again by itself. Neither the cluster nor the hub is silent.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { checkAxe, settled } from '../lib/pages.mjs';
import { shot } from '../lib/shot.mjs';
import { act, axle, closeBrowser, dialled, eventually, kubectl, logIn, newContext, stack } from '../lib/stack.mjs';

const strip = (page) => page.getByText('Live view unavailable, deploys go on.');
const fact = (page, name) => page.locator('dl > div').filter({ has: page.getByText(name, { exact: true }) });
const workloads = (page) => page.getByRole('grid', { name: 'Workloads' });
// What the objects of a service own is read live; no report has it.
const owned = (page) => page.getByRole('button', { name: /^Open Deployment talker: owns/ });
const live = (page) => page.locator('header [data-phase="live"]');
const told = `told-${Date.now().toString(36)}`;

after(() => act({ do: 'tunnel', what: 'mend' }));
after(closeBrowser);

// What the cluster's page says in each of its facts, and around it.
async function onlyTheTunnel(page) {
  await fact(page, 'Tunnel').getByText('Down').waitFor();
  await fact(page, 'Freshness').getByText('Fresh', { exact: true }).waitFor();
  await live(page).waitFor();
  await page.getByText('Reconnecting.', { exact: true }).waitFor({ state: 'detached' }); // the hub is heard
}

test('a tunnel that is down: the strip, what still works, and back', { timeout: 600_000 }, async (t) => {
  const context = await newContext();
  const page = await logIn(context, stack.email, '/clusters/edge-2/workloads');
  await workloads(page).getByText('talker', { exact: true }).first().waitFor();
  assert.equal(await strip(page).count(), 0);
  const service = await context.newPage();
  await service.goto('/services/edge-2/talker');
  await owned(service).waitFor();
  for (const one of [page, service]) await one.evaluate(() => (window.sameDocument = true));

  await act({ do: 'tunnel', what: 'cut' });
  const cut = Date.now();
  await t.test('the page of the cluster has the strip and the last report', async (t) => {
    await strip(page).waitFor();
    t.diagnostic(`the strip after ${((Date.now() - cut) / 1000).toFixed(1)} s`);
    await page.getByText("The agent's tunnel is down; its last poll was").waitFor();
    await onlyTheTunnel(page);
    await page.getByText('Last reported', { exact: true }).waitFor();
    await page.locator('summary').filter({ hasText: 'talker' }).getByText('Healthy').waitFor();
    await page.locator('summary').filter({ hasText: 'talker' }).click();
    await page.getByRole('region', { name: 'Objects of talker' }).getByText('Deployment', { exact: true }).waitFor();
    assert.equal(await workloads(page).count(), 0, 'a list that is not live any more');
    await shot(page, 'a19-tunnel');
    await checkAxe(page, 'the strip');
  });
  await t.test('so have nodes and any kind, and other clusters have not', async () => {
    for (const tab of ['Nodes', 'Explore']) {
      await page.getByRole('navigation', { name: 'Cluster' }).getByRole('link', { name: tab }).click();
      await settled(page);
      await strip(page).waitFor();
    }
    const other = await context.newPage();
    await other.goto('/clusters/edge-1/workloads');
    await workloads(other).getByText('talker', { exact: true }).first().waitFor();
    assert.equal(await strip(other).count(), 0);
    await other.close();
  });
  await t.test('the list of clusters says Down, and not Stale', async () => {
    const list = await context.newPage();
    await list.goto('/clusters?tunnel=Down');
    const row = list.locator('[role="row"][data-id]');
    await row.getByText('edge-2').waitFor();
    assert.equal(await row.count(), 1);
    await row.getByText('Fresh').waitFor();
    await list.close();
  });
  await t.test('a service shows its last report, and asks for the live objects once', async () => {
    await service.reload();
    await strip(service).waitFor();
    // Those of this document: the one before may have asked while it was left.
    const asked = await service.evaluate(() => performance.getEntriesByType('resource').filter((e) => e.name.endsWith('/GetTree')).length);
    assert.equal(asked, 1, 'it was asked again and again');
    await service.evaluate(() => (window.sameDocument = true));
    await service.getByText('Shown is the last report').waitFor();
    await service.getByRole('row').filter({ hasText: 'Deployment' }).filter({ hasText: 'talker' }).getByText('Healthy').waitFor();
    assert.equal(await owned(service).count(), 0, 'something that no report has');
    await shot(service, 'a19-service');
    await service.getByRole('button', { name: 'Graph', exact: true }).click();
    await service.getByRole('treeitem', { name: 'Deployment talker, Healthy' }).waitFor();
    assert.equal(await service.getByRole('treeitem').count(), 2, 'the service and its one object');
    await service.getByRole('button', { name: 'Tree', exact: true }).click();
  });
  await t.test('a commit is delivered', async () => {
    await act({ do: 'commit', repo: 'fleet', message: `feat(web): ${told}`, files: { 'apps/web/told.yaml': `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${told}}\n` } });
    await page.goto('/services/edge-2/web');
    await page.getByRole('button', { name: 'Sync', exact: true }).click();
    await page.getByRole('row').filter({ hasText: told }).getByText('Healthy').waitFor();
    await strip(page).waitFor();
    assert.match(await kubectl('edge-2', '--namespace', 'web', 'get', 'configmap', told, '-o', 'name'), new RegExp(told));
    await page.goto('/clusters/edge-2/workloads');
    await strip(page).waitFor();
    await onlyTheTunnel(page);
    await page.evaluate(() => (window.sameDocument = true));
  });

  await act({ do: 'tunnel', what: 'mend' });
  const mended = Date.now();
  await t.test('it is live again without a reload', async (t) => {
    await workloads(page).getByText('talker', { exact: true }).first().waitFor({ timeout: dialled });
    t.diagnostic(`live again after ${((Date.now() - mended) / 1000).toFixed(1)} s`);
    await strip(page).waitFor({ state: 'detached' });
    await fact(page, 'Tunnel').getByText('Up').waitFor();
    await owned(service).waitFor();
    await strip(service).waitFor({ state: 'detached' });
    for (const one of [page, service]) assert.equal(await one.evaluate(() => window.sameDocument), true, 'it was loaded again');
    await shot(page, 'a19-mended');
  });
  await axle('services', 'wait', 'edge-2/web', '--timeout', '2m');
  await eventually(async () => assert.equal(page.complaints.filter((one) => !/status of 503/.test(one)).length, 0));
  await context.close();
});
