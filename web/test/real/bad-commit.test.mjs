// Somebody pushes a commit that does not run. From the first page to the reason in at
// most four interactions, then back to what worked, with a reason that stays.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { enter, tabTo, type } from '../lib/keyboard.mjs';
import { shot } from '../lib/shot.mjs';
import { act, axle, closeBrowser, eventually, logIn, newContext, stack } from '../lib/stack.mjs';

const path = 'apps/talker/talker.yaml';
const good = stack.apps[path];
// A Deployment counts as progressing until its deadline, also while its pods crash;
// minReadySeconds keeps it from counting a pod that starts and ends as ready.
const bad = good.replace('"500ms"', '"500ms", "-no-such-flag"').replace('replicas: 1', 'replicas: 1\n  progressDeadlineSeconds: 12\n  minReadySeconds: 5');
const reason = `talker does not start, see ${Date.now().toString(36)}`;
const maxInteractions = 4;

after(async () => {
  await act({ do: 'commit', repo: 'fleet', message: 'fix(talker): the flag is gone again', files: { [path]: good.replace('greeting: hello', `greeting: again-${Date.now()}`) } });
  await axle('services', 'resume', 'edge-1/talker');
  await axle('services', 'wait', '--all', '--timeout', '2m');
});
after(closeBrowser);

test('a bad commit: seen, understood, rolled back', async (t) => {
  const page = await logIn(await newContext());
  await page.getByRole('heading', { level: 1 }).waitFor();
  const message = 'feat(talker): a flag that it does not know';
  await act({ do: 'commit', repo: 'fleet', message, files: { [path]: bad } });
  const began = Date.now();

  const needs = page.getByRole('region', { name: 'Needs you' });
  // Another service may have failed before, whose link leads elsewhere.
  const item = needs.getByRole('listitem').filter({ hasText: 'edge-1/talker' }).getByRole('link', { name: /failed/ }).first();
  await item.waitFor({ timeout: 120_000 });
  t.diagnostic(`on the first page after ${((Date.now() - began) / 1000).toFixed(1)} s`);
  await shot(page, 'a6-home');

  let interactions = 0;
  await enter(page, item);
  interactions++;
  await page.waitForURL(/\/services/); // the page before it has such rows too
  // One failed service has its own link, several have that of a list.
  const row = page.getByRole('row').filter({ hasText: 'talker' }).filter({ hasText: 'edge-1' }).first();
  const components = page.getByRole('treegrid', { name: 'Components' });
  await row.or(components).first().waitFor();
  if (!page.url().includes('/services/edge-1/talker')) {
    await shot(page, 'a6-list');
    await enter(page, row);
    interactions++;
  }
  await page.waitForURL('**/services/edge-1/talker**');
  await components.waitFor();
  await shot(page, 'a6-service');
  await page.getByRole('button', { name: 'Logs' }).waitFor();
  await page.keyboard.press('l');
  interactions++;
  await page.waitForURL(/\/pods\.v1\/talker\/talker-.*\/logs/);
  // The page before it has last lines too.
  await page.getByRole('log', { name: /^Log of / }).getByText(/flag provided but not defined: -no-such-flag/).first().waitFor();
  await shot(page, 'a6-log');
  assert.ok(interactions <= maxInteractions, `${interactions} interactions`);

  await page.goBack();
  await enter(page, page.getByRole('button', { name: 'Roll back…' }));
  const dialog = page.getByRole('dialog');
  await dialog.getByText(/pins the service to revision \d+/).waitFor();
  await type(page, dialog.getByLabel('Reason'), reason);
  await shot(page, 'a6-dialog');
  await enter(page, dialog.getByRole('button', { name: 'Roll back' }));
  await page.getByText(/Pinned to revision \d+ by a rollback/).waitFor();
  await page.getByText(new RegExp(`It does not follow main until it is resumed\\. By .+: ${reason}`)).waitFor();
  await shot(page, 'a6-pinned');
  await eventually(async () => assert.match(await page.getByRole('banner').or(page.locator('main header')).last().innerText(), /Healthy/), 120_000);
  await page.goto('/services/edge-1/talker?tab=revisions');
  await page.getByText(reason).first().waitFor();
  await shot(page, 'a6-revisions');

  await page.goto('/audit?object=edge-1%2Ftalker');
  const record = page.getByRole('row').filter({ hasText: 'Services/Rollback' }).first();
  await tabTo(page, record);
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').getByText(reason).first().waitFor();
  await shot(page, 'a6-audit');
  await page.context().close();
});
