// A cluster from a template: the form, how far the cluster is while it is made, and its end. The simulated cluster prod-eu is
// its management cluster, and reports as the agent there would.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { halfMade, registerTemplate, reportChild } from '../lib/furnish.mjs';
import { checkAxe, open, settled, tabOrder } from '../lib/pages.mjs';
import { closeBrowser, eventually, hub, logIn, newContext, stack } from '../lib/stack.mjs';

before(registerTemplate);
after(closeBrowser);

const at = (page, path) => eventually(async () => assert.equal(new URL(page.url()).pathname, path));
const cells = (row) => row.locator('td').allInnerTexts();

test('a cluster is created by the form, followed while it is made, and destroyed', { timeout: 300_000 }, async () => {
  const context = await newContext();
  const page = await logIn(context, stack.people.writer, '/clusters/new');
  const main = page.getByRole('main');
  await main.getByRole('link', { name: 'From a template' }).click();
  await at(page, '/clusters/new/template');
  await settled(page);
  const button = main.getByRole('button', { name: 'Create the cluster' });
  await button.waitFor();
  const stops = await tabOrder(page);
  assert.deepEqual(stops.filter((one) => !one.visible || one.width === 0), [], 'focus that nobody sees');
  assert.ok(stops.some((one) => one.name === 'Create the cluster'));

  // What the browser knows is said beside the field, and nothing is sent.
  const pool = main.getByRole('group', { name: 'nodePools 1', exact: true });
  await main.getByLabel('Name', { exact: true }).fill('shop-1');
  await main.getByLabel('controlPlaneCount').selectOption('3');
  await pool.getByLabel('count', { exact: true }).fill('99');
  await button.click();
  await pool.getByText('is at most 20').waitFor();
  assert.equal(await pool.getByLabel('count', { exact: true }).evaluate((e) => e === document.activeElement), true, 'the focus is on what is wrong');
  // What only the hub knows, too.
  await pool.getByLabel('count', { exact: true }).fill('2');
  await pool.getByLabel('labels', { exact: true }).fill('team=shop');
  await button.click();
  await main.getByText('The cluster was not created').waitFor();
  assert.equal(await pool.getByLabel('labels', { exact: true }).getAttribute('aria-invalid'), 'true');
  await checkAxe(page, 'the form, refused');
  await pool.getByLabel('labels', { exact: true }).fill('');
  assert.equal(
    (await main.getByRole('region', { name: 'Command of the form' }).innerText()).replaceAll(/ \\\n\s*/g, ' '),
    `axle clusters create shop-1 --template docker --on prod-eu --set controlPlaneCount=3 --set 'nodePools=[{"name":"default","count":2}]'`,
  );
  await button.click();
  await at(page, '/clusters/shop-1');
  await main.getByText('Being made by prod-eu').waitFor();
  const { origin } = await hub('Clusters/Get', { name: 'shop-1' });
  assert.deepEqual(JSON.parse(origin.variables).nodePools, [{ name: 'default', count: 2, labels: {}, taints: [] }]);

  // The list and the page follow what the management cluster reports, without a reload.
  const list = await context.newPage();
  await open(list, '/clusters');
  const row = list.locator('[role="row"]').filter({ hasText: 'shop-1' });
  await row.getByText('Provisioning', { exact: true }).waitFor();
  await reportChild('shop-1', halfMade());
  const machines = main.getByRole('region', { name: 'Machines, table' }).locator('tbody tr');
  await machines.nth(2).waitFor();
  assert.deepEqual(await cells(machines.nth(0)), ['Control plane', '', '3', '1', '3', 'v1.36.4']);
  assert.deepEqual(await cells(machines.nth(2)), ['large', 'ScalingUp', '5', '2', '4', 'v1.35.8 and v1.36.4']);
  const [first] = await main.getByRole('region', { name: 'Conditions, table' }).locator('tbody tr').all();
  assert.deepEqual((await cells(first)).toSpliced(2, 1), ['Available', 'False', 'NotAvailable', 'Control plane: 1 of 3 machines is ready']);
  assert.match((await cells(first))[2], /^\d+ m$/);
  await reportChild('shop-1', { ...halfMade(), phase: 'Provisioned' });
  await row.getByText('Provisioned', { exact: true }).waitFor();
  await main.getByRole('region', { name: 'Provisioning' }).getByText('Provisioned', { exact: true }).waitFor();

  // Delete has no way to the machines; destroy has, by the typed name.
  await open(page, '/clusters/shop-1/settings');
  await main.getByRole('button', { name: 'Destroy shop-1…' }).click();
  const dialog = page.getByRole('alertdialog');
  await dialog.getByLabel('Type shop-1 to confirm').fill('shop-2');
  await dialog.getByRole('button', { name: 'Destroy' }).click();
  await dialog.getByText('Type shop-1 to confirm.', { exact: true }).waitFor();
  await dialog.getByLabel('Type shop-1 to confirm').fill('shop-1');
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  await eventually(async () => assert.doesNotMatch((await hub('Clusters/List')).clusters.map((c) => c.name).join(), /shop-1/));
  // The list is read from an index that follows.
  await eventually(async () => {
    await open(list, '/clusters');
    assert.equal(await row.count(), 0);
  });
  await context.close();
});
