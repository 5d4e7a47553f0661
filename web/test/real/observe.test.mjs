// A workload crashes: its page and that of its cluster show the alert, its restarts, its memory and
// its last lines, from real stores in the cluster; a tenant sees those of its namespaces alone.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { checkAxe, sideways, watchPolicy } from '../lib/pages.mjs';
import { shot } from '../lib/shot.mjs';
import { act, axle, closeBrowser, eventually, hub, kubectl, logIn, newContext, stack } from '../lib/stack.mjs';

const cluster = 'edge-1';
const apps = ['faults', 'neighbour'];
const script = `echo "level=error msg='cannot open the shelf'"; sleep 2; exit 7`;
const deployment = (name) => `apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}}
spec:
  replicas: 1
  selector: {matchLabels: {app: ${name}}}
  template:
    metadata: {labels: {app: ${name}}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - {name: main, image: "axle.test/sh:1", args: ["-c", ${JSON.stringify(script)}]}
        - {name: beside, image: "axle.test/sh:1", args: ["-c", "while true; do sleep 1; done"]}
`;

const alerts = async (...args) => JSON.parse(await axle('clusters', 'alerts', cluster, ...args, '-o', 'json'));
const fires = (all, namespace) => all.find((a) => a.name === 'ContainerCrashes' && a.namespace === namespace);
const settled = { timeout: 300_000 };

before(async () => {
  await act({ do: 'commit', repo: 'fleet', message: 'feat: two that end with 7', files: Object.fromEntries(apps.map((a) => [`apps/${a}/${a}.yaml`, deployment(a)])) });
  for (const app of apps) await axle('services', 'create', `${cluster}/${app}`, '--repo', 'fleet', '--ref', 'main', '--folder', `apps/${app}`);
  await eventually(async () => {
    const all = await alerts();
    for (const app of apps) assert.ok(fires(all, app), `no alert of ${app}: ${JSON.stringify(all)}`);
  }, 180_000);
});
after(async () => {
  for (const app of apps) await axle('services', 'delete', `${cluster}/${app}`, '--yes');
});
after(closeBrowser);

test('an alert stands on the page of its cluster, of its service and on the home page', settled, async () => {
  const all = await alerts();
  const crash = fires(all, 'faults');
  assert.equal(crash.state, 'firing');
  assert.equal(crash.severity, 'critical');
  assert.equal(crash.runbookUrl, 'https://runbooks.example.com/container-crashes');
  assert.equal(crash.sources.length, 2, 'Alertmanager and Prometheus have it, and it is shown once');
  assert.equal(all.filter((a) => a.name === 'ContainerCrashes' && a.namespace === 'faults').length, 1);
  assert.ok(all.find((a) => a.name === 'Watchdog'));
  assert.deepEqual((await alerts('--namespace', 'faults')).map((a) => a.namespace), ['faults']);

  const context = await newContext();
  await watchPolicy(context);
  const page = await logIn(context, stack.email, `/clusters/${cluster}`);
  const panel = page.getByRole('region', { name: 'Alerts' });
  const item = panel.getByRole('listitem').filter({ hasText: 'ContainerCrashes' }).filter({ hasText: 'faults/' });
  await item.getByText(/main has crashed \d+ times/).waitFor();
  const runbook = item.getByRole('link', { name: /Runbook/ });
  assert.equal(await runbook.getAttribute('href'), 'https://runbooks.example.com/container-crashes');
  assert.equal(await runbook.getAttribute('rel'), 'noopener noreferrer');
  assert.match(await item.getByRole('link', { name: /Grafana/ }).getAttribute('href'), /^https:\/\/grafana\.example\.com\/d\/all\?var-cluster=edge-1&from=\d+&to=\d+$/);
  await page.getByRole('list', { name: 'Links', exact: true }).getByRole('link', { name: /Grafana/ }).waitFor();
  await shot(page, 'alerts-cluster');
  await checkAxe(page, 'alerts of a cluster');
  // By keyboard: the link has the focus that a person sees.
  await runbook.focus();
  assert.ok(await runbook.evaluate((e) => e.matches(':focus-visible')));
  for (const width of [390, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    assert.deepEqual(await sideways(page), [], `${width} px`);
  }

  await page.goto(`/services/${cluster}/faults`);
  await page.getByRole('region', { name: 'Alerts' }).getByText('ContainerCrashes').first().waitFor();
  await page.getByRole('log', { name: /^Last lines of faults-/ }).getByText('cannot open the shelf').waitFor();
  await page.getByRole('region', { name: 'Last lines of failing containers' }).getByText(/exit code 7/).first().waitFor();
  await page.getByRole('list', { name: 'Links', exact: true }).getByRole('link', { name: /Grafana/ }).waitFor();
  await shot(page, 'alerts-service');
  await checkAxe(page, 'alerts of a service');

  await page.goto('/');
  const needs = page.getByRole('region', { name: 'Needs you' });
  await needs.getByRole('link', { name: 'ContainerCrashes fires in edge-1' }).first().waitFor();
  await shot(page, 'alerts-home');
  await checkAxe(page, 'alerts on the home page');
  assert.deepEqual(await page.evaluate(() => window.policyViolations), []);
  await context.close();
});

test('its restarts and its memory are those that the cluster measured', settled, async () => {
  const query = async (text, source) => hub('Metrics/Query', { cluster, source, query: text });
  await eventually(async () => {
    const restarts = await query('max(kube_pod_container_status_restarts_total{namespace="faults"})');
    assert.ok(restarts.series?.[0]?.values[0] >= 2, JSON.stringify(restarts));
    const memory = await query('max(container_memory_working_set_bytes{namespace="faults",container="beside"})');
    assert.ok(memory.series?.[0]?.values[0] > 100_000, JSON.stringify(memory));
  });
});

test('VictoriaMetrics is asked when it is declared', settled, async () => {
  await fetch(`${stack.stores['other-metrics']}/api/v1/import/prometheus`, { method: 'POST', body: 'shelves{namespace="faults"} 3\n' });
  await fetch(`${stack.stores['other-metrics']}/internal/force_flush`);
  await axle('telemetry-sources', 'apply', 'edge-1-victoria', '--project', 'default', '--cluster', cluster, '--type', 'prometheus', '--namespace', 'monitoring', '--service', 'other-metrics', '--port', '8428');
  try {
    await eventually(async () => {
      const { series } = await hub('Metrics/Query', { cluster, source: 'edge-1-victoria', query: 'shelves' });
      assert.deepEqual(series?.[0]?.values, [3]);
    });
  } finally {
    await axle('telemetry-sources', 'delete', 'edge-1-victoria', '--yes');
  }
});

test('a silence says who, until when and why, and leads to where it is', settled, async () => {
  const now = Date.now();
  const answer = await fetch(`${stack.stores.alertmanager}/api/v2/silences`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      matchers: [{ name: 'namespace', value: 'neighbour', isRegex: false, isEqual: true }],
      startsAt: new Date(now).toISOString(),
      endsAt: new Date(now + 3_600_000).toISOString(),
      createdBy: 'kim',
      comment: 'the shelf is repaired <img src=x onerror=alert(1)>',
    }),
  });
  const { silenceID } = await answer.json();
  await eventually(async () => assert.equal(fires(await alerts(), 'neighbour').state, 'silenced'));
  const context = await newContext();
  const page = await logIn(context, stack.email, `/clusters/${cluster}`);
  const panel = page.getByRole('region', { name: 'Alerts' });
  await panel.getByText(/Silenced by kim.*the shelf is repaired <img src=x onerror=alert\(1\)>/).waitFor();
  assert.equal(await panel.locator('img').count(), 0);
  assert.equal(await panel.getByRole('link', { name: /^Silence/ }).getAttribute('href'), `https://alertmanager.example.com/#/silences/${silenceID}`);
  await shot(page, 'alerts-silenced');
  await fetch(`${stack.stores.alertmanager}/api/v2/silence/${silenceID}`, { method: 'DELETE' });
  await context.close();
});

test('a tenant sees the alerts of its namespaces alone', settled, async () => {
  const role = 'system:aggregate-to-view';
  const rules = async (name) => JSON.parse(await kubectl(cluster, 'get', 'clusterrole', name, '-o', 'json')).rules;
  const become = (value) => kubectl(cluster, 'patch', 'clusterrole', role, '--type=json', '-p', JSON.stringify([{ op: 'replace', path: '/rules', value }]));
  const had = await rules(role);
  const binding = ['--user', stack.people.stranger, '--action', 'read', '--cluster', cluster];
  await axle('auth', 'bind', ...binding);
  try {
    await become(had.map((rule) => ({ ...rule, resources: rule.resources?.filter((one) => one !== 'pods/log') })));
    await eventually(async () => assert.doesNotMatch(JSON.stringify(await rules('view')), /pods\/log/));
    await kubectl(cluster, '--namespace', 'faults', 'create', 'role', 'logs', '--verb=get', '--resource=pods/log');
    await kubectl(cluster, '--namespace', 'faults', 'create', 'rolebinding', 'logs', '--role=logs', `--user=${stack.people.stranger}`);
    const context = await newContext();
    const page = await logIn(context, stack.people.stranger, `/clusters/${cluster}`);
    const panel = page.getByRole('region', { name: 'Alerts' });
    await panel.getByText('ContainerCrashes').first().waitFor();
    await panel.getByText(/faults\/faults-/).first().waitFor();
    assert.doesNotMatch(await panel.innerText(), /neighbour|Watchdog/);
    await shot(page, 'alerts-tenant');
    // The API refuses nothing and shows nothing, whatever it is asked for.
    const ask = (method, body) =>
      page.evaluate(
        async ([path, text]) => {
          const answer = await fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: text });
          return answer.text();
        },
        [`/axle.hub.v1.${method}`, JSON.stringify(body)],
      );
    for (const namespace of ['', 'neighbour', 'faults']) assert.doesNotMatch(await ask('ClusterAlerts/List', { cluster, namespace }), /"neighbour"|Watchdog/);
    assert.doesNotMatch(await ask('ClusterAlerts/Worst', {}), /"neighbour"|Watchdog/);
    assert.doesNotMatch(await ask('Metrics/Query', { cluster, query: 'kube_pod_info or label_replace(kube_pod_info{namespace="neighbour"}, "namespace", "faults", "", "")' }), /neighbour-/);
    await context.close();
  } finally {
    await become(had);
    await axle('auth', 'unbind', ...binding);
  }
});
