// The end of what a failing container wrote stands on its service's page: the previous run of one that
// crashes, whatever it wrote, as far as the person may read it, and while the tunnel is up.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { readsLogs } from '../lib/observed.mjs';
import { checkAxe, fitsAcross, watchPolicy } from '../lib/pages.mjs';
import { shot } from '../lib/shot.mjs';
import { act, axle, closeBrowser, crashes, dialled, eventually, kubectl, logIn, newContext, stack } from '../lib/stack.mjs';

const name = 'dies';
const service = (cluster) => `${cluster}/${name}`;

// 60 lines, steering, bytes that are no text, 16 MB without a newline, and what matters.
const script = `i=0; while [ $i -lt 60 ]; do echo "line $i"; i=$((i+1)); done
printf '\\033[31mred\\033[0m \\033]0;title\\007 bell\\007 back\\033[2Jward\\n'
printf 'bytes \\377\\376\\200 end\\n'
echo '<img src=x onerror=alert(1)>'
s=0123456789abcdef; while [ \${#s} -lt 16000000 ]; do s=$s$s; done
if [ -n "$LONG" ]; then echo "$s"; fi
echo "level=error msg='cannot open the database'"
exit 7`;

const deployment = (which, long) => `apiVersion: apps/v1
kind: Deployment
metadata: {name: ${which}}
spec:
  replicas: 2
  selector: {matchLabels: {app: ${which}}}
  template:
    metadata: {labels: {app: ${which}}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - {name: main, image: "axle.test/sh:1", args: ["-c", ${JSON.stringify(script)}], env: [{name: LONG, value: "${long}"}]}
`;

const restarts = (cluster) => kubectl(cluster, '--namespace', name, 'get', 'pods', '-o', 'jsonpath={.items[*].status.containerStatuses[0].restartCount}');

before(async () => {
  await act({ do: 'commit', repo: 'fleet', message: 'feat(dies): ends with 7', files: { 'apps/dies/short.yaml': deployment('short', ''), 'apps/dies/long.yaml': deployment('long', 'yes') } });
  for (const cluster of ['edge-1', 'edge-2']) await axle('services', 'create', service(cluster), '--repo', 'fleet', '--ref', 'main', '--folder', 'apps/dies');
  for (const cluster of ['edge-1', 'edge-2']) {
    await eventually(async () => {
      const counts = (await restarts(cluster)).split(' ').map(Number);
      assert.ok(counts.length === 4 && counts.every((n) => n >= 3), `restarts ${counts}`);
    }, crashes);
  }
});
after(() => act({ do: 'tunnel', what: 'mend' }));
after(async () => {
  for (const cluster of ['edge-1', 'edge-2']) await axle('services', 'delete', service(cluster), '--yes');
});
after(closeBrowser);

const log = (page, of) => page.getByRole('log', { name: new RegExp(`^Last lines of ${of}-`) });

test('they stand there without a click', { timeout: 300_000 }, async (t) => {
  const context = await newContext();
  await watchPolicy(context);
  const page = await logIn(context, stack.email, `/services/${service('edge-1')}`);
  const started = Date.now();
  const short = log(page, 'short');
  await short.getByText('cannot open the database').waitFor();
  await log(page, 'long').getByText('cannot open the database').waitFor();
  t.diagnostic(`after ${((Date.now() - started) / 1000).toFixed(1)} s`);
  const region = page.getByRole('region', { name: 'Last lines of failing containers' });
  await region.getByText(/previous run: .*exit code 7/).first().waitFor();

  // A container that runs for a moment until it ends again is well, and has no last lines meanwhile.
  const lines = await eventually(async () => {
    const all = await short.locator('[data-level]').allInnerTexts();
    assert.equal(all.length, 20);
    return all;
  });
  assert.match(lines[0], /line 4\d$/m);
  const text = lines.join('\n');
  assert.match(text, /red {2}bell backward/);
  assert.match(text, /bytes \uFFFD+ end/);
  assert.match(text, /<img src=x onerror=alert\(1\)>/);
  // oxlint-disable-next-line no-control-regex -- that is what is looked for
  assert.doesNotMatch(text, /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/);
  assert.equal(await page.locator('[role="log"] img').count(), 0);
  assert.doesNotMatch(await page.title(), /^title/);

  // One pod speaks for its siblings, and a line of megabytes does not hide the last one.
  await eventually(async () => assert.equal(await page.getByRole('log').count(), 2));
  await region.getByText(/Long lines: only the last one fits here/).waitFor();
  assert.ok((await log(page, 'long').innerText()).length < 10_000);
  for (const width of [320, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    await fitsAcross(page, `${width} px`);
  }
  await shot(page, 'last-lines');
  await checkAxe(page, 'last lines');
  assert.deepEqual(await page.evaluate(() => window.policyViolations), []);
  await context.close();
});

test('with the rights of whoever looks', { timeout: 120_000 }, async () => {
  // Who may read the service and not its cluster sees what the agent reported, and no log.
  const binding = ['--user', stack.people.stranger, '--action', 'read', '--service', service('edge-1')];
  await axle('auth', 'bind', ...binding);
  try {
    const context = await newContext();
    const page = await logIn(context, stack.people.stranger, `/services/${service('edge-1')}`);
    await page.getByRole('row').filter({ hasText: 'short' }).first().waitFor();
    await page.getByText('without the last lines of what fails').waitFor();
    assert.equal(await page.getByRole('log').count(), 0);
    assert.equal(await page.getByText('cannot open the database').count(), 0);
    await shot(page, 'last-lines-forbidden');
    await context.close();
  } finally {
    await axle('auth', 'unbind', ...binding);
  }
});

test('a reader without the right to logs sees the pods, and why there are no lines', { timeout: 180_000 }, async () => {
  const role = 'system:aggregate-to-view';
  const become = (value) => kubectl('edge-1', 'patch', 'clusterrole', role, '--type=json', '-p', JSON.stringify([{ op: 'replace', path: '/rules', value }]));
  const before = JSON.parse(await kubectl('edge-1', 'get', 'clusterrole', role, '-o', 'json')).rules;
  const binding = ['--user', stack.people.stranger, '--action', 'read', '--cluster', 'edge-1'];
  await axle('auth', 'bind', ...binding);
  try {
    await become(before.map((rule) => ({ ...rule, resources: rule.resources?.filter((one) => one !== 'pods/log') })));
    await readsLogs('edge-1', name, false);
    const context = await newContext();
    const page = await logIn(context, stack.people.stranger, `/services/${service('edge-1')}`);
    const region = page.getByRole('region', { name: 'Last lines of failing containers' });
    await region.getByText(/previous run: .*exit code 7/).first().waitFor();
    await region.getByText(/Its log can’t be read: .*cannot get resource "pods\/log"/).first().waitFor();
    assert.equal(await page.getByRole('log').count(), 0);
    assert.equal(await page.getByText('cannot open the database').count(), 0);
    await shot(page, 'last-lines-no-right');
    await context.close();
  } finally {
    await become(before);
    await axle('auth', 'unbind', ...binding);
  }
});

test('without a tunnel the page says so, and they are back with it', { timeout: 300_000 }, async () => {
  const context = await newContext();
  const page = await logIn(context, stack.email, `/services/${service('edge-2')}`);
  await log(page, 'short').getByText('cannot open the database').waitFor();
  await act({ do: 'tunnel', what: 'cut' });
  await page.reload();
  await page.getByText('Live view unavailable, deploys go on.').waitFor();
  await page.getByText('without the last lines of what fails').waitFor();
  assert.equal(await page.getByRole('log').count(), 0);
  await shot(page, 'last-lines-no-tunnel');
  await act({ do: 'tunnel', what: 'mend' });
  await log(page, 'short').getByText('cannot open the database').waitFor({ timeout: dialled });
  await page.getByText('without the last lines of what fails').waitFor({ state: 'detached' });
  await context.close();
});
