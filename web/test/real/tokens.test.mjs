// A token is made, used by a program, and revoked; a kubeconfig from the console
// reaches the cluster under the person's own name.
import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { clipboard } from '../lib/enrolling.mjs';
import { copied, shell } from '../lib/shell.mjs';
import { shot } from '../lib/shot.mjs';
import { axle, closeBrowser, eventually, logIn, newContext, stack } from '../lib/stack.mjs';

after(closeBrowser);

const name = `nightly-${Date.now().toString(36)}`;
const promised = 5_000;

async function call(secret, procedure, message = {}) {
  return fetch(`${stack.url}/axle.hub.v1.${procedure}`, { method: 'POST', headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }, body: JSON.stringify(message) });
}

test('a token: made, used, revoked within 5 s, named in the audit log', async (t) => {
  const page = await logIn(await newContext(clipboard));
  await page.goto('/settings/tokens');
  await page.getByRole('button', { name: 'Create a token' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name', { exact: true }).fill(name);
  await dialog.getByRole('checkbox', { name: /^write/ }).check();
  await shot(page, 'a18-token');
  await dialog.getByRole('button', { name: 'Create', exact: true }).click();
  const secret = (await copied(page, 'Token')).trim();
  await shot(page, 'a18-secret');
  await page.getByRole('button', { name: 'I have stored it' }).click();
  assert.ok(!(await page.content()).includes(secret), 'the secret stays in the page');

  assert.equal((await call(secret, 'Sessions/WhoAmI')).status, 200);
  const paused = await call(secret, 'Services/Pause', { ref: { cluster: 'edge-1', name: 'web' }, reason: 'by a token' });
  assert.equal(paused.status, 200, await paused.text());
  await axle('services', 'resume', 'edge-1/web');

  await page.getByRole('button', { name: `Revoke ${name}` }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke', exact: true }).click();
  await page.getByText('Revoked: it is refused everywhere within 5 s').waitFor();
  const began = Date.now();
  await eventually(async () => assert.equal((await call(secret, 'Sessions/WhoAmI')).status, 401), promised);
  t.diagnostic(`refused ${Date.now() - began} ms after the console said so`);

  await page.goto('/audit');
  const record = page.getByRole('row').filter({ hasText: 'Services/Pause' }).first();
  await record.getByRole('link').click();
  await page.getByRole('dialog').getByText(name).first().waitFor();
  await shot(page, 'a18-audit');
  await page.context().close();
});

test('a kubeconfig: the printed command gives one, and kubectl reaches the cluster with it', async () => {
  const page = await logIn(await newContext(clipboard));
  await page.goto('/clusters/edge-1/settings');
  const printed = await copied(page, 'Command');
  assert.match(printed, /^axle clusters kubeconfig edge-1/);
  const out = await axle(...printed.trim().split(' ').slice(1));
  const file = join(mkdtempSync(join(tmpdir(), 'axle-kubeconfig-')), 'config');
  writeFileSync(file, out, { mode: 0o600 });
  const { code, said } = await shell('edge-1', `kubectl --kubeconfig ${file} get namespace default -o name`);
  assert.equal(code, 0, said);
  assert.match(said, /namespace\/default/);
  await page.context().close();
});
