// Whether a cluster is ready for a version: its agent looks, the page shows what it finds, and the JSON is the same.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { checkAxe, fitsAcross, open } from '../lib/pages.mjs';
import { closeBrowser, hub, kubectl, logIn, newContext, stack } from '../lib/stack.mjs';

after(closeBrowser);

const budget = ['poddisruptionbudget', 'stuck', '--namespace', 'talker'];
after(() => kubectl('edge-1', 'delete', '--ignore-not-found', ...budget));

test('a budget that lets no pod go is found, and the cluster is ready without it', { timeout: 300_000 }, async () => {
  const { kubernetesVersion } = await hub('Clusters/Get', { name: 'edge-1' });
  const [, to] = kubernetesVersion.match(/^v(\d+\.\d+)/);
  const context = await newContext();
  const page = await logIn(context, stack.email, '/clusters/edge-1');
  const main = page.getByRole('main');
  await main.getByRole('navigation', { name: 'Cluster' }).getByRole('link', { name: 'Readiness' }).click();
  await main.getByLabel('Version', { exact: true }).fill(to);
  await page.keyboard.press('Enter');
  await main.getByText(`edge-1 is ready for ${to}`).waitFor();
  assert.equal(new URL(page.url()).searchParams.get('to'), to);

  await kubectl('edge-1', 'create', ...budget, '--selector=app=talker', '--max-unavailable=0');
  await main.getByRole('button', { name: 'Check again' }).click();
  const found = main.getByRole('region', { name: 'PodDisruptionBudgets, table' });
  await found.getByText('policy/v1/PodDisruptionBudget talker/stuck').waitFor();
  await main.getByText('Not ready').waitFor();
  await checkAxe(page, 'readiness', { looks: true });
  await page.setViewportSize({ width: 320, height: 844 });
  await fitsAcross(page, '320 px');

  const [download] = await Promise.all([page.waitForEvent('download'), main.getByRole('button', { name: 'JSON' }).click()]);
  assert.equal(download.suggestedFilename(), `readiness-edge-1-${to}.json`);
  const report = JSON.parse(readFileSync(await download.path(), 'utf8'));
  const asked = await hub('Clusters/Readiness', { name: 'edge-1', to });
  assert.deepEqual(report.checks.map((c) => [c.name, c.state, c.findings]), asked.checks.map((c) => [c.name, c.state, c.findings]));

  await kubectl('edge-1', 'delete', ...budget);
  await main.getByRole('button', { name: 'Check again' }).click();
  await main.getByText(`edge-1 is ready for ${to}`).waitFor();
  // What the hub does not take is said in its words.
  await open(page, '/clusters/edge-1/readiness?to=new');
  await main.getByText("Can't check edge-1 for new").waitFor();
  await context.close();
});
