// A service that brings a dashboard: its graphs have a line at each revision that was applied, named in
// the table beside them, and lead to the logs of the time that they show. The hub's own dashboard, and
// the commands of its page.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { checkAxe, fitsAcross, watchPolicy } from '../lib/pages.mjs';
import { shot } from '../lib/shot.mjs';
import { act, axle, closeBrowser, eventually, hub, kubectl, logIn, newContext, stack } from '../lib/stack.mjs';

const cluster = 'edge-1';
const app = 'marked';
// What an earlier run on the same stack left in the repository is another text.
const run = Date.now();
// More than what one of them may wait for: a graph is read again each minute.
const settled = { timeout: 600_000 };
const deployment = (word) => `apiVersion: apps/v1
kind: Deployment
metadata: {name: ${app}}
spec:
  replicas: 1
  selector: {matchLabels: {app: ${app}}}
  template:
    metadata: {labels: {app: ${app}}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - {name: main, image: "axle.test/sh:1", args: ["-c", "while true; do echo ${word}; sleep 1; done"]}
`;
const deploy = (word, message) => act({ do: 'commit', repo: 'fleet', message, files: { [`apps/${app}/${app}.yaml`]: deployment(word) } });

before(async () => {
  await deploy(`one ${run}`, 'feat: the first word');
  await axle('services', 'create', `${cluster}/${app}`, '--repo', 'fleet', '--ref', 'main', '--folder', `apps/${app}`);
  await axle('services', 'wait', `${cluster}/${app}`, '--timeout', '2m');
});
after(async () => {
  await axle('services', 'delete', `${cluster}/${app}`, '--yes');
});
after(closeBrowser);

test('a graph has a line where a revision was applied, and leads to the logs of its range', settled, async () => {
  await eventually(async () => {
    const { series } = await hub('Metrics/Query', { cluster, query: `max(container_memory_working_set_bytes{namespace="${app}",container="main"})` });
    assert.ok(series?.[0]?.values[0] > 0);
  }, 120_000);
  await deploy(`two ${run}`, 'fix: the <b>second</b> word');
  const applied = async () => (await hub('Events/List', { cluster, service: app, limit: 100 })).events.filter((e) => e.kind === 'service.applied');
  await eventually(async () => {
    const all = await applied();
    assert.ok(all.length >= 2, JSON.stringify(all));
  }, 120_000);
  const revision = (await applied())[0].message.replace('revision ', '');

  const context = await newContext();
  await watchPolicy(context);
  const page = await logIn(context, stack.email, `/services/${cluster}/${app}?tab=metrics`);
  const deployments = page.getByRole('list', { name: 'Deployments in this range' });
  const applies = new RegExp(`Applied revision \\d+, ${revision}: fix: the <b>second</b> word`);
  await deployments.getByText(applies).waitFor();
  const memory = page.getByRole('region', { name: 'Memory', exact: true });
  await memory.locator('canvas').waitFor();
  const table = memory.getByRole('table', { name: 'Marked in Memory' });
  // A graph ends at its newest step, and takes the next one when it is read again.
  await eventually(async () => assert.match(await table.innerText(), applies), 180_000);
  await shot(page, 'metrics-deployed');
  await checkAxe(page, 'metrics with deployments');
  for (const width of [390, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    await fitsAcross(page, `${width} px`);
  }
  // The workload's own page has them as well.
  await page.goto(`/clusters/${cluster}/k8s/deployments.v1.apps/${app}/${app}/metrics`);
  await page.getByRole('list', { name: 'Deployments in this range' }).getByText(applies).waitFor();
  // The range that was chosen goes from page to page.
  await page.getByRole('button', { name: '6h', exact: true }).click();
  await page.waitForURL(/range=6h/);
  await page.goto(`/clusters/${cluster}/metrics`);
  await page.waitForURL(/range=6h/);
  // One click, and the time goes along.
  await page.goto(`/services/${cluster}/${app}?tab=metrics&range=30m`);
  await page.getByText('Logs of this range').getByRole('link', { name: app }).click();
  await page.waitForURL(/\/logs\?from=.*&to=/);
  const { searchParams } = new URL(page.url());
  assert.equal(Date.parse(searchParams.get('to')) - Date.parse(searchParams.get('from')), 30 * 60_000);
  await page.getByRole('log').getByText('two').first().waitFor();
  assert.deepEqual(await page.evaluate(() => window.policyViolations), []);
  assert.deepEqual(page.complaints, []);
  await context.close();
});

test('the dashboard of the hub is drawn in its console, and the commands of its page run', settled, async () => {
  const file = resolve('../deploy/dashboards/axle-hub.yaml');
  await kubectl(cluster, 'create', 'namespace', 'axle');
  try {
    let ran = 0;
    for (const [, line] of readFileSync('../docs/dashboards.md', 'utf8').matchAll(/^((?:axle|kubectl) .+)$/gm)) {
      const [program, ...args] = line.replace('deploy/dashboards/axle-hub.yaml', file).split(/\s+/);
      await (program === 'axle' ? axle(...args) : kubectl(cluster, ...args));
      ran++;
    }
    assert.equal(ran, 3);
    const context = await newContext();
    const page = await logIn(context, stack.email, `/clusters/${cluster}/metrics`);
    await page.getByRole('link', { name: 'Axle hub' }).click();
    await page.getByRole('heading', { name: 'Axle hub' }).waitFor();
    await page.getByLabel('job', { exact: true }).waitFor();
    await page.getByText('The replicas of the hub').waitFor();
    const slices = page.getByRole('group', { name: 'Time range' }).getByRole('button');
    assert.deepEqual(await slices.allInnerTexts(), ['1h', '6h', '1d', '7d']);
    assert.equal(await slices.nth(1).getAttribute('aria-pressed'), 'true');
    // The Prometheus of this cluster reads no hub: each graph says so, and none fails.
    await page.getByText('$job has no value').first().waitFor();
    await shot(page, 'dashboard-hub');
    await checkAxe(page, 'the dashboard of the hub');
    await context.close();
  } finally {
    await kubectl(cluster, 'delete', 'namespace', 'axle', '--wait=false');
  }
});
