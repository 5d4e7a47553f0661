// A workload crashes: its page and that of its cluster show the alert, its last lines, and graphs of
// its restarts and its memory, with the dashboard that it brought, from real stores in the cluster; its
// lines are in the store of logs. A tenant sees those of its namespaces alone.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { apps, bring, cluster, collect, crashed, readsLogs, remove } from '../lib/observed.mjs';
import { checkAxe, fitsAcross, watchPolicy } from '../lib/pages.mjs';
import { looks, shot } from '../lib/shot.mjs';
import { axle, closeBrowser, crashes, eventually, hub, kubectl, logIn, newContext, patience, stack } from '../lib/stack.mjs';

const alerts = async (...args) => JSON.parse(await axle('clusters', 'alerts', cluster, ...args, '-o', 'json'));
const fires = (all, namespace) => all.find((a) => a.name === 'ContainerCrashes' && a.namespace === namespace);
// The pod of each application.
const pods = {};
// More than what one of them may wait for: a graph is read again each minute.
const settled = { timeout: 600_000 };

// Under load a store may miss a look at the cluster, which ends an alert for a moment.
const firing = async () => {
  const all = await alerts();
  // Prometheus has an alert before it has sent it to Alertmanager, also the one that always fires.
  const both = (a) => a?.state === 'firing' && a.sources.length === 2;
  for (const app of apps) {
    assert.ok(both(fires(all, app)), `no alert of ${app} from both: ${JSON.stringify(all)}`);
    // Another file of tests may have brought them before: the alert of a pod that is gone lasts some seconds.
    assert.deepEqual(all.filter((a) => a.name === 'ContainerCrashes' && a.namespace === app).map((a) => a.pod), [pods[app]]);
  }
  assert.ok(both(all.find((a) => a.name === 'Watchdog')), JSON.stringify(all));
  return all;
};

before(async () => {
  await bring();
  await crashed();
  for (const app of apps) pods[app] = (await kubectl(cluster, '--namespace', app, 'get', 'pods', '-o', 'jsonpath={.items[*].metadata.name}')).trim();
  await eventually(firing, crashes);
});
after(remove);
after(closeBrowser);

test('an alert stands on the page of its cluster, of its service and on the home page', settled, async () => {
  const all = await eventually(firing);
  const crash = fires(all, 'faults');
  assert.equal(crash.state, 'firing');
  assert.equal(crash.severity, 'critical');
  assert.equal(crash.runbookUrl, 'https://runbooks.example.com/container-crashes');
  assert.equal(crash.sources.length, 2, 'Alertmanager and Prometheus have it, and it is shown once');
  assert.equal(all.filter((a) => a.name === 'ContainerCrashes' && a.namespace === 'faults').length, 1);
  assert.ok(all.find((a) => a.name === 'Watchdog'));
  await eventually(async () => assert.deepEqual((await alerts('--namespace', 'faults')).map((a) => a.namespace), ['faults']));

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
  await looks(page, 'alerts-cluster');
  await checkAxe(page, 'alerts of a cluster');
  // By keyboard: the link has the focus that a person sees.
  await runbook.focus();
  assert.ok(await runbook.evaluate((e) => e.matches(':focus-visible')));
  for (const width of [390, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    await fitsAcross(page, `${width} px`);
  }

  await page.goto(`/services/${cluster}/faults`);
  await page.getByRole('region', { name: 'Alerts' }).getByText('ContainerCrashes').first().waitFor();
  await page.getByRole('log', { name: /^Last lines of faults-/ }).getByText('cannot open the shelf').waitFor();
  await page.getByRole('region', { name: 'Last lines of failing containers' }).getByText(/exit code 7/).first().waitFor();
  await page.getByRole('list', { name: 'Links', exact: true }).getByRole('link', { name: /Grafana/ }).waitFor();
  await looks(page, 'alerts-service');
  await checkAxe(page, 'alerts of a service');

  await page.goto('/');
  const needs = page.getByRole('region', { name: 'Needs you' });
  await needs.getByRole('link', { name: 'ContainerCrashes fires in edge-1' }).first().waitFor();
  await looks(page, 'alerts-home');
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

// How many points of a graph have the colour of a line: what is beside lines is grey.
const drawn = (canvas) =>
  canvas.evaluate((c) => {
    const { data } = c.getContext('2d').getImageData(0, 0, c.width, c.height);
    let n = 0;
    for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 128 && Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > 60) n++;
    return n;
  });

/**
 * Waits until a graph is drawn, and until each of the rows of the table beside it has numbers and one has what is looked for.
 * A graph takes what was measured since when it is read again, each minute.
 */
async function graph(page, title, want) {
  const panel = page.getByRole('region', { name: title, exact: true });
  const canvas = panel.locator('canvas');
  await canvas.waitFor();
  await eventually(async () => assert.ok((await drawn(canvas)) > 5, `${title}: nothing is drawn`));
  await eventually(async () => {
    const rows = await panel.getByRole('table').locator('tbody tr').allInnerTexts();
    assert.ok(rows.every((r) => /\d/.test(r)), `${title}: ${rows}`);
    assert.match(rows.join('\n'), want, title);
  }, 60_000 + patience);
}

test('graphs are drawn on the page of the cluster and of the service, with a table beside each', settled, async () => {
  const context = await newContext();
  await watchPolicy(context);
  const page = await logIn(context, stack.email, `/clusters/${cluster}/metrics`);
  for (const title of ['Memory by namespace', 'Restarts by namespace']) await graph(page, title, /faults/);
  await looks(page, 'metrics-cluster');
  await checkAxe(page, 'metrics of a cluster');
  for (const width of [390, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    await fitsAcross(page, `${width} px`);
  }

  await page.goto(`/services/${cluster}/faults?tab=metrics`);
  for (const title of ['Memory', 'Restarts']) await graph(page, title, /faults-/);
  const memory = page.getByRole('region', { name: 'Memory', exact: true });
  await memory.getByRole('button', { name: 'Show Memory as a table' }).click();
  await memory.getByRole('region', { name: 'Memory by time' }).getByRole('cell', { name: /[KM]iB$/ }).first().waitFor();
  await looks(page, 'metrics-service');

  await page.getByRole('link', { name: 'Shelves' }).click();
  await page.getByRole('heading', { name: 'Shelves' }).waitFor();
  const container = page.getByLabel('container', { exact: true });
  await eventually(async () => assert.equal(await container.inputValue(), 'beside'));
  await graph(page, 'Memory of a container', /faults-\S+ <script>alert\(1\)<\/script>/);
  await graph(page, 'Restarts', /main/);
  await container.selectOption('main');
  await page.waitForURL(/var\.container=main/);
  await looks(page, 'dashboard');
  await checkAxe(page, 'a dashboard');
  assert.deepEqual(await page.evaluate(() => window.policyViolations), []);
  assert.deepEqual(page.complaints, []);
  await context.close();
});

test('VictoriaLogs has the lines of the crashed container', settled, async () => {
  await collect();
  const stored = async (...args) => (await axle('logs', ...args, '--store', 'any', '--since', '1h', '-o', 'json')).trim().split('\n').filter(Boolean).map((l) => JSON.parse(l));
  const lines = await stored(`${cluster}/faults`, '--grep', 'shelf');
  assert.ok(lines.length > 0);
  for (const l of lines) {
    assert.match(l.text, /cannot open the shelf/);
    assert.match(l.pod, /^faults-/);
    assert.deepEqual([l.namespace, l.container], ['faults', 'main']);
  }
  assert.deepEqual([...new Set((await stored(cluster, '--query', '{container="main"} |= "shelf"')).map((l) => l.namespace))].toSorted(), apps);
  // Another file of this profile writes lines of a pod of its own.
  assert.deepEqual((await stored(cluster, '--query', '{namespace="faults"} != "shelf"')).filter((l) => l.pod !== 'faults-later'), []);
  // The service brought the query along; what it finds is not of its namespace alone.
  const named = JSON.parse(`[${(await axle('logs', `${cluster}/faults/LogFilter/shelf`, '--since', '1h', '-o', 'json')).trim().replaceAll('\n', ',')}]`);
  assert.ok(named.length >= lines.length && named.every((l) => l.container === 'main' && /shelf/.test(l.text)), JSON.stringify(named));
});

// The names in the pages' examples, as this stack has them.
const here = [
  [/\bedge-1\/web\b/g, 'edge-1/talker'],
  [/\bshop\/(Deployment\/web|StatefulSet\/db)/g, 'faults/Deployment/faults'],
  [/\bshop\/web\b/g, 'faults/shelves'],
  [/--namespace shop\b/g, '--namespace faults'],
  [/--container proxy/g, '--container main'],
  [/--var pod=web-0/g, '--var container=main'],
  [/--store logs/g, '--store any'],
  [/examples\/kinds/g, resolve('../examples/kinds')],
];

test('the commands of the pages do what the pages say', settled, async () => {
  await collect();
  let ran = 0;
  for (const name of ['cluster-metrics', 'logs', 'howto/connect-prometheus', 'howto/connect-a-log-store', 'howto/see-alerts', 'howto/dashboards-in-a-package']) {
    const text = readFileSync(`../docs/${name}.md`, 'utf8');
    for (const [, line] of text.matchAll(/^axle (.+)$/gm)) {
      // What ends by itself alone; and no token is in a file here.
      if (/--follow|--token-file|\|/.test(line.replace(/'[^']*'/g, ''))) continue;
      const args = here.reduce((l, [from, to]) => l.replace(from, to), line).match(/'[^']*'|\S+/g).map((a) => a.replace(/^'|'$/g, ''));
      try {
        await axle(...args);
      } catch (error) {
        assert.fail(`docs/${name}.md: axle ${line}: ${error.message}`);
      } finally {
        if (args[0] === 'telemetry-sources') await axle('telemetry-sources', 'delete', args[2], '--yes');
      }
      ran++;
    }
  }
  assert.ok(ran >= 18, `${ran} commands`);
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

test('a tenant sees alerts, metrics and lines of its namespaces only', settled, async () => {
  const role = 'system:aggregate-to-view';
  const become = (value) => kubectl(cluster, 'patch', 'clusterrole', role, '--type=json', '-p', JSON.stringify([{ op: 'replace', path: '/rules', value }]));
  const had = JSON.parse(await kubectl(cluster, 'get', 'clusterrole', role, '-o', 'json')).rules;
  const binding = ['--user', stack.people.stranger, '--action', 'read', '--cluster', cluster];
  await axle('auth', 'bind', ...binding);
  try {
    await become(had.map((rule) => ({ ...rule, resources: rule.resources?.filter((one) => one !== 'pods/log') })));
    await kubectl(cluster, '--namespace', 'faults', 'create', 'role', 'logs', '--verb=get', '--resource=pods/log');
    await kubectl(cluster, '--namespace', 'faults', 'create', 'rolebinding', 'logs', '--role=logs', `--user=${stack.people.stranger}`);
    await readsLogs(cluster, 'faults', true);
    await readsLogs(cluster, 'neighbour', false);
    const context = await newContext();
    const page = await logIn(context, stack.people.stranger, `/clusters/${cluster}`);
    const panel = page.getByRole('region', { name: 'Alerts' });
    await panel.getByText('ContainerCrashes').first().waitFor();
    await panel.getByText(/faults\/faults-/).first().waitFor();
    assert.doesNotMatch(await panel.innerText(), /neighbour|Watchdog/);
    await shot(page, 'alerts-tenant');
    // The API refuses nothing and shows nothing, whatever it is asked for.
    const ask = (method, body, kind = 'application/json') =>
      page.evaluate(
        async ([path, text, type]) => {
          const { csrf } = await (await fetch('/login/session')).json();
          let message = new TextEncoder().encode(text);
          if (type === 'application/connect+json') {
            // A call that streams: a message has a head of 5 bytes.
            message = new Uint8Array([0, 0, 0, message.length >> 8, message.length & 255, ...message]);
          }
          const answer = await fetch(path, { method: 'POST', headers: { 'content-type': type, 'Axle-Csrf': csrf }, body: message });
          return answer.text();
        },
        [`/axle.hub.v1.${method}`, JSON.stringify(body), kind],
      );
    for (const [method, body, own] of [['ClusterAlerts/List', { cluster }, /"faults"/], ['ClusterAlerts/Worst', {}, /"faults"/], ['Metrics/Query', { cluster, query: 'kube_pod_info' }, /faults-/]]) {
      await eventually(async () => assert.match(await ask(method, body), own));
    }
    for (const namespace of ['', 'neighbour', 'faults']) assert.doesNotMatch(await ask('ClusterAlerts/List', { cluster, namespace }), /"neighbour"|Watchdog/);
    assert.doesNotMatch(await ask('ClusterAlerts/Worst', {}), /"neighbour"|Watchdog/);
    assert.doesNotMatch(await ask('Metrics/Query', { cluster, query: 'kube_pod_info or label_replace(kube_pod_info{namespace="neighbour"}, "namespace", "faults", "", "")' }), /neighbour-/);
    const search = (body) => ask('ClusterAPI/SearchLogs', { cluster, ...body }, 'application/connect+json');
    await collect();
    assert.match(await search({ store: {} }), /cannot open the shelf/);
    for (const request of [
      { store: {} },
      { store: {}, namespace: 'neighbour' },
      { store: { query: '{namespace="neighbour"}' } },
      { store: { query: '{namespace=~".*"}' } },
      { store: { query: '{namespace!="faults"}' } },
      { store: {}, pods: ['neighbour-1" or *'] },
      { store: {}, match: 'shelf") or (kubernetes.pod_namespace:neighbour' },
    ]) {
      assert.doesNotMatch(await search(request), /neighbour-[0-9a-f]/, JSON.stringify(request));
    }

    await page.goto(`/clusters/${cluster}/metrics`);
    await graph(page, 'Memory by namespace', /faults/);
    await page.getByText('Limited to faults').waitFor();
    const seen = await page.locator('main').innerText();
    assert.doesNotMatch(seen, /neighbour/);
    await shot(page, 'metrics-tenant');

    for (const search of ['', '?namespace=neighbour', '?query=%7Bnamespace%3D%22neighbour%22%7D']) {
      await page.goto(`/clusters/${cluster}/logs${search}`);
      await page.getByText('Limited to faults').waitFor();
      await page.getByText(search ? 'No lines' : 'cannot open the shelf').first().waitFor();
      assert.doesNotMatch(await page.locator('main').innerText(), /neighbour-/);
    }
    await page.goto(`/clusters/${cluster}/logs`);
    await page.getByText('cannot open the shelf').first().waitFor();
    await shot(page, 'logs-search-tenant');
    await context.close();
  } finally {
    await become(had);
    await axle('auth', 'unbind', ...binding);
    for (const kind of ['rolebinding', 'role']) await kubectl(cluster, '--namespace', 'faults', 'delete', kind, 'logs', '--ignore-not-found');
  }
});
