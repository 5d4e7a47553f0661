// A pod that crashes again and again: from its service to the pod, its previous log,
// its events and a shell, one key each.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { shell } from '../lib/shell.mjs';
import { shot } from '../lib/shot.mjs';
import { act, axle, closeBrowser, crashes, eventually, kubectl, logIn, newContext, stack } from '../lib/stack.mjs';

const name = 'crasher';
const service = `edge-1/${name}`;
const maxKeys = 5;

before(async () => {
  const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: crasher}
spec:
  replicas: 1
  selector: {matchLabels: {app: crasher}}
  template:
    metadata: {labels: {app: crasher}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - {name: crasher, image: "axle.test/talker:1", args: ["-exit", "7"]}
        - {name: beside, image: "axle.test/sh:1", args: ["-c", "while true; do sleep 1; done"]}
`;
  await act({ do: 'commit', repo: 'fleet', message: 'feat(crasher): ends with 7', files: { 'apps/crasher/crasher.yaml': deployment } });
  await axle('services', 'create', service, '--repo', 'fleet', '--ref', 'main', '--folder', 'apps/crasher');
  await eventually(async () => {
    const restarts = await kubectl('edge-1', '--namespace', name, 'get', 'pods', '-o', 'jsonpath={.items[0].status.containerStatuses[?(@.name=="crasher")].restartCount}');
    assert.ok(Number(restarts) >= 2, `${restarts} restarts`);
  }, crashes);
  // The stack's kubelet writes no events; this is what another says of such a pod.
  const { metadata } = JSON.parse(await kubectl('edge-1', '--namespace', name, 'get', 'pods', '-o', 'jsonpath={.items[0]}'));
  const now = new Date().toISOString().replace(/\.\d+/, '');
  const event = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'back-off', namespace: name },
    involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace: name, name: metadata.name, uid: metadata.uid },
    type: 'Warning',
    reason: 'BackOff',
    message: 'Back-off restarting failed container crasher',
    source: { component: 'kubelet' },
    count: 3,
    firstTimestamp: now,
    lastTimestamp: now,
  };
  const { code, said } = await shell('edge-1', `kubectl apply -f - <<'EVENT'\n${JSON.stringify(event)}\nEVENT`);
  assert.equal(code, 0, said);
});
after(() => axle('services', 'delete', service, '--yes'));
after(closeBrowser);

test('service, pod, previous log, events, shell: a key each', async () => {
  const page = await logIn(await newContext(), stack.email, `/services/${service}`);
  await page.getByRole('treegrid', { name: 'Components' }).waitFor();
  await page.getByRole('button', { name: 'Logs' }).waitFor();
  await shot(page, 'a8-service');
  let keys = 0;
  const press = async (key) => {
    await page.keyboard.press(key);
    keys++;
  };

  await press('l');
  await page.waitForURL(/\/pods\.v1\/crasher\/crasher-.*\/logs/);
  // The page before it has last lines too, and a key of this name.
  await page.getByRole('log', { name: /^Log of / }).getByText(/hello from/).first().waitFor();
  await shot(page, 'a8-logs');
  await press('p');
  await page.waitForURL(/previous=/);
  await page.getByText('previous run', { exact: true }).waitFor();
  await page.getByText(/this goes to stderr/).first().waitFor();
  await shot(page, 'a8-previous');
  await press('e');
  await page.waitForURL(/\/events/);
  await page.getByRole('cell', { name: 'BackOff' }).first().waitFor();
  await shot(page, 'a8-events');
  await press('x');
  await page.waitForURL(/\/exec/);
  const opens = page.getByRole('button', { name: 'Open a shell' });
  await eventually(async () => assert.ok(await opens.evaluate((e) => e === document.activeElement && !e.disabled)));
  await shot(page, 'a8-exec');
  await press('Enter');
  const terminal = page.getByRole('textbox', { name: /^Terminal in beside/ });
  await eventually(async () => assert.ok(await terminal.evaluate((e) => e === document.activeElement)));
  assert.ok(keys <= maxKeys, `${keys} keys`);
  await page.keyboard.type('echo answer-$((40+2))\n');
  await page.getByText('answer-42').first().waitFor();
  await shot(page, 'a8-shell');

  await page.goto('/audit');
  const row = page.getByRole('row').filter({ hasText: /exec/ }).filter({ hasText: 'crasher' }).first();
  await eventually(async () => {
    await page.getByRole('button', { name: 'Load newer' }).click();
    assert.equal(await row.count(), 1);
  });
  await shot(page, 'a8-audit');
  await page.context().close();
});
