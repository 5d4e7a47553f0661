// Two applications that crash, of the cluster that has stores of metrics, logs and alerts.
import assert from 'node:assert/strict';
import { act, axle, crashes, eventually, kubectl, stack } from './stack.mjs';

export const cluster = 'edge-1';
export const apps = ['faults', 'neighbour'];
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

const dashboard = `apiVersion: platform.plural.sh/v1alpha1
kind: Dashboard
metadata: {name: shelves}
spec:
  name: Shelves
  description: What the shelves take
  timeslices: [30m, 1h, 1d]
  defaultTime: 30m
  labels:
    - {name: container, query: {query: 'kube_pod_container_info{namespace="faults"}', label: container}}
  graphs:
    - name: Memory of a container
      format: bytes
      queries: [{query: 'container_memory_working_set_bytes{namespace="faults",container="$container"}', legendFormat: "$pod <script>alert(1)</script>"}]
    - name: Restarts
      queries: [{query: 'sum by (container) (kube_pod_container_status_restarts_total{namespace="faults"})', legendFormat: $container}]
`;

const logFilter = `apiVersion: platform.plural.sh/v1alpha1
kind: LogFilter
metadata: {name: shelf}
spec:
  query: '{container="main"} |= "shelf"'
`;

const logTail = `apiVersion: platform.plural.sh/v1alpha1
kind: LogTail
metadata: {name: crashes}
spec: {target: deployment/faults, container: main, limit: 50}
`;

/** Brings them into the cluster, with a dashboard, a LogFilter and a LogTail of the first. */
export async function bring() {
  const objects = { dashboard, logfilter: logFilter, logtail: logTail };
  const files = Object.fromEntries([...apps.map((a) => [`apps/${a}/${a}.yaml`, deployment(a)]), ...Object.entries(objects).map(([name, text]) => [`apps/faults/${name}.yaml`, text])]);
  // Another file of tests may have committed the same.
  await act({ do: 'commit', repo: 'fleet', message: 'feat: two that end with 7', files: { ...files, 'when.txt': `${Date.now()}` } });
  for (const app of apps) await axle('services', 'create', `${cluster}/${app}`, '--repo', 'fleet', '--ref', 'main', '--folder', `apps/${app}`);
}

/** Waits until each has crashed twice; returns the pod of the first. */
export async function crashed() {
  for (const app of apps)
    await eventually(async () => {
      const counts = await kubectl(cluster, '--namespace', app, 'get', 'pods', '-o', 'jsonpath={.items[*].status.containerStatuses[?(@.name=="main")].restartCount}');
      assert.ok(Number(counts) >= 2, `restarts ${counts}`);
    }, crashes);
  return kubectl(cluster, '--namespace', 'faults', 'get', 'pods', '-o', 'jsonpath={.items[0].metadata.name}');
}

/** Waits until the API server lets a person with the right to read a cluster read the logs of a namespace, or lets nobody: it knows a role a moment after it was written. */
export const readsLogs = (where, namespace, may) =>
  eventually(async () => {
    const as = ['--as', stack.people.stranger, '--as-group', 'axle:cluster:read', '--as-group', 'system:authenticated'];
    const answer = await kubectl(where, '--namespace', namespace, 'auth', 'can-i', 'get', 'pods', '--subresource', 'log', ...as).catch((error) => error.message);
    assert.match(answer, may ? /^yes/ : /(^|\n)no\b/, answer);
  });

export async function remove() {
  for (const app of apps) await axle('services', 'delete', `${cluster}/${app}`, '--yes');
}

/** What a collector of logs does: the lines of the crashed containers go to the store. */
export async function collect() {
  const lines = [];
  for (const app of apps) {
    for (const text of (await axle('logs', `${cluster}/${app}`, '--previous', '--tail', '5', '-o', 'json')).trim().split('\n')) {
      lines.push(JSON.parse(text));
    }
  }
  await store(lines);
}

export async function store(lines) {
  const to = stack.stores['victoria-logs'];
  const body = lines.map((l) => JSON.stringify({ _time: l.time, _msg: l.text, 'kubernetes.pod_namespace': l.namespace, 'kubernetes.pod_name': l.pod, 'kubernetes.container_name': l.container })).join('\n');
  const answer = await fetch(`${to}/insert/jsonline?_stream_fields=kubernetes.pod_namespace,kubernetes.pod_name,kubernetes.container_name`, { method: 'POST', headers: { 'content-type': 'application/stream+json' }, body });
  assert.ok(answer.ok, `${answer.status}`);
  await fetch(`${to}/internal/force_flush`);
}
