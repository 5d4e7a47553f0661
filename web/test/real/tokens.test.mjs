// A token is made, used by a program, and revoked; a kubeconfig from the console
// reaches the cluster under the person's own name.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { clipboard } from '../lib/enrolling.mjs';
import { copied } from '../lib/shell.mjs';
import { shot } from '../lib/shot.mjs';
import { axle, closeBrowser, eventually, logIn, newContext, stack } from '../lib/stack.mjs';

after(closeBrowser);

const name = `nightly-${Date.now().toString(36)}`;
const promised = 5_000;

async function call(secret, procedure, message = {}) {
  return fetch(`${stack.url}/axle.hub.v1.${procedure}`, { method: 'POST', headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }, body: JSON.stringify(message) });
}

test('a token: made, used, revoked within 5 s, and its id in the audit log', async (t) => {
  const page = await logIn(await newContext(clipboard), stack.email, '/settings/tokens');
  await page.getByRole('button', { name: 'Create a token' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name', { exact: true }).fill(name);
  await dialog.getByRole('checkbox', { name: /^write/ }).check();
  await shot(page, 'a18-token');
  await dialog.getByRole('button', { name: 'Create', exact: true }).click();
  const secret = (await copied(page, 'Token')).trim();
  await shot(page, 'a18-secret');
  await page.getByRole('button', { name: 'I have stored it' }).click();
  await eventually(async () => assert.ok(!(await page.content()).includes(secret), 'the secret stays in the page'));

  assert.equal((await call(secret, 'Sessions/WhoAmI')).status, 200);
  const paused = await call(secret, 'Services/Pause', { ref: { cluster: 'edge-1', name: 'web' }, reason: 'by a token' });
  assert.equal(paused.status, 200, await paused.text());
  await axle('services', 'resume', 'edge-1/web');

  const { id } = JSON.parse(await axle('tokens', 'list', '-o', 'json')).find((one) => one.name === name);
  await page.getByRole('button', { name: `Revoke ${name}` }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke', exact: true }).click();
  await page.getByText('Revoked: it is refused everywhere within 5 s').waitFor();
  const began = Date.now();
  await eventually(async () => assert.equal((await call(secret, 'Sessions/WhoAmI')).status, 401), promised);
  t.diagnostic(`refused ${Date.now() - began} ms after the console said so`);

  await page.goto('/audit');
  const record = page.getByRole('row').filter({ hasText: 'Services/Pause' }).first();
  await record.getByRole('link').click();
  await page.getByRole('dialog').getByText(id).first().waitFor();
  await shot(page, 'a18-audit');
  await page.context().close();
});

test('a kubeconfig: the printed command gives one, and the cluster answers who has it', async () => {
  const page = await logIn(await newContext(clipboard), stack.email, '/clusters/edge-1/settings');
  const printed = await copied(page, 'Command axle clusters kubeconfig edge-1');
  assert.match(printed, /^axle clusters kubeconfig edge-1/);
  const out = await axle(...printed.trim().split(' ').slice(1));
  // kubectl itself sends no credential over plain HTTP, which is what this stack speaks.
  const server = out.match(/server: (\S+)/)[1];
  const secret = out.match(/token: (\S+)/)[1];
  const answer = await fetch(`${server}/api/v1/namespaces/default`, { headers: { authorization: `Bearer ${secret}` } });
  assert.equal(answer.status, 200);
  assert.equal((await answer.json()).metadata.name, 'default');
  await page.context().close();
});
