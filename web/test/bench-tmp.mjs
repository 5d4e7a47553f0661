// Measures graphs and live logs of the console on a stack of the profile real: a Dashboard in a
// cluster, drawn from its Prometheus; a workload that writes thousands of lines a second. The last
// line is JSON. `make bench-ui` runs it.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lastPainted, processorOf, traceTasks, watchStrokes } from './lib/drawn.mjs';
import { closeBrowser, eventually, kubectl, logIn, newContext, stack } from './lib/stack.mjs';

const cluster = 'edge-1';
const namespace = 'bench';
const rounds = 1;
const linesOfGraph = 40;
const queriesOfGraph = 20;
// An hour in the steps that the hub takes for one: 14 s.
const pointsOfLine = 258;

const median = (all) => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)];
const round = (n) => Math.round(n * 10) / 10;

// Lines that Prometheus computes from the time, so that a stack which has just begun has an hour of
// them: 40 in a graph, with the 250 or so points that the console asks for.
const wave = (graph, n) => `label_replace(1e9 * (2 + sin(vector(${graph} + ${n}) + vector(time()) / 400)), "pod", "web-7f9c6d5b48-${graph}-${n}", "", "")`;
const graph = (number) => ({
  name: `Memory ${number}`,
  format: 'bytes',
  queries: Array.from({ length: queriesOfGraph }, (_, n) => ({ query: [0, 1].map((half) => wave(number, 2 * n + half)).join(' or '), legendFormat: '$pod' })),
});
const dashboard = (graphs) => ({
  apiVersion: 'platform.plural.sh/v1alpha1',
  kind: 'Dashboard',
  metadata: { name: `graphs-${graphs}`, namespace },
  spec: { name: `Graphs ${graphs}`, defaultTime: '1h', timeslices: ['1h', '2h'], graphs: Array.from({ length: graphs }, (_, n) => graph(n + 1)) },
});

// 70 lines of each of four pods in a tenth of a second and the time that a shell takes: above 2,000 a
// second together.
const pods = 4;
const writes = `n=0; while :; do seq -f 'level=info msg="order %.0f was packed and is on its way" took=12ms' $n $((n+69)); n=$((n+70)); sleep 0.1; done`;
const busy = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'busy', namespace },
  spec: {
    replicas: pods,
    selector: { matchLabels: { app: 'busy' } },
    template: { metadata: { labels: { app: 'busy' } }, spec: { terminationGracePeriodSeconds: 1, containers: [{ name: 'main', image: 'axle.test/sh:1', args: ['-c', writes] }] } },
  },
};

const folder = mkdtempSync(join(tmpdir(), 'axle-bench-'));
const file = join(folder, 'objects.json');
writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }, dashboard(1), dashboard(10)] }));
await kubectl(cluster, 'apply', '-f', file);

const context = await newContext({ viewport: { width: 1440, height: 2000 } });
await context.addInitScript(watchStrokes);
await (await logIn(context, stack.email, '/services')).close();
const result = {};

// The library of graphs is fetched with the first graph, and by no page before.
const early = await context.newPage();
const fetched = [];
early.on('response', (r) => fetched.push(r));
for (const path of ['/', '/clusters', '/services']) {
  await early.goto(path);
  await early.locator('h1').first().waitFor();
  await early.evaluate(() => new Promise((rest) => setTimeout(rest, 2000))); // what is loaded ahead
}
const scripts = await Promise.all(fetched.filter((r) => new URL(r.url()).pathname.endsWith('.js')).map((r) => r.text().catch(() => '')));
result.chart_in_first_view = scripts.filter((text) => text.includes('u-over')).length;
if (scripts.length < 5) throw new Error(`only ${scripts.length} scripts were seen`);
await early.close();

// A dashboard: the hub's answer is held until the page rests, so that what is measured begins with it.
async function graphs(some) {
  const page = await context.newPage();
  const used = await processorOf(page);
  let release;
  const held = () =>
    new Promise((asked) => {
      release = asked;
    });
  let asking = held();
  await page.route('**/axle.hub.v1.Dashboards/Draw', async (route) => {
    const answer = await route.fetch();
    const body = await answer.body();
    release({ bytes: body.length, go: () => route.fulfill({ response: answer, body }) });
  });
  const measured = { first: [], firstCpu: [], again: [], againCpu: [], bytes: 0 };
  async function one(begin, into, cpu) {
    asking = held();
    await begin();
    const answer = await asking;
    measured.bytes = answer.bytes;
    await page.evaluate(() => new Promise((rest) => setTimeout(rest, 500)));
    await page.evaluate(() => {
      performance.clearResourceTimings();
      window.strokes = 0;
      window.stroked = 0;
    });
    const before = await used();
    await answer.go();
    const end = await lastPainted(page, some * linesOfGraph);
    const after = await used();
    const arrived = await page.evaluate(() => performance.getEntriesByType('resource').find((e) => e.name.endsWith('Dashboards/Draw')).responseEnd);
    into.push(end - arrived);
    cpu.push(after.all - before.all);
  }
  for (let n = 0; n < rounds; n++) {
    await one(() => page.goto(`/clusters/${cluster}/dashboards/${namespace}/graphs-${some}`), measured.first, measured.firstCpu);
    await one(() => page.getByRole('button', { name: '2h', exact: true }).click(), measured.again, measured.againCpu);
  }
  const drawn = await page.evaluate(() => document.querySelectorAll('.u-over').length);
  if (drawn !== some) throw new Error(`${drawn} graphs are drawn, not ${some}`);
  const points = some * linesOfGraph * pointsOfLine;
  // The same points by the canvas itself, in the same page and size: nothing but lines.
  const reference = { wall: [], cpu: [] };
  for (let n = 0; n < rounds; n++) {
    const before = await used();
    const took = await page.evaluate(
      async ({ some, lines, points }) => {
        const size = document.querySelector('.u-over').getBoundingClientRect();
        const data = Array.from({ length: lines }, (_, l) => Array.from({ length: points }, (__, i) => 2 + Math.sin(l + i / 30)));
        const began = performance.now();
        const all = [];
        for (let g = 0; g < some; g++) {
          const canvas = document.createElement('canvas');
          canvas.width = size.width;
          canvas.height = size.height;
          const ctx = canvas.getContext('2d');
          for (const [l, values] of data.entries()) {
            ctx.strokeStyle = `hsl(${l * 9} 60% 50%)`;
            ctx.lineWidth = 1.5;
            ctx.beginPath();
            for (let i = 0; i < values.length; i++) ctx.lineTo((i * size.width) / values.length, (values[i] * size.height) / 4);
            ctx.stroke();
          }
          document.querySelector('main').prepend(canvas);
          all.push(canvas);
        }
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
        const ended = performance.now();
        for (const c of all) c.remove();
        return ended - began;
      },
      { some, lines: linesOfGraph, points: pointsOfLine },
    );
    const after = await used();
    reference.wall.push(took);
    reference.cpu.push(after.all - before.all);
  }
  await page.close();
  console.error(some, JSON.stringify({ ...measured, reference }));
  return {
    first_ms: round(median(measured.first)),
    first_cpu_ms: round(median(measured.firstCpu)),
    again_ms: round(median(measured.again)),
    again_cpu_ms: round(median(measured.againCpu)),
    canvas_ms: round(median(reference.wall)),
    canvas_cpu_ms: round(median(reference.cpu)),
    points,
  };
}

result.one_graph = await graphs(1);

console.error(JSON.stringify(result));

// A live log of several pods: from its beginning until more lines came than are kept, and after that.
writeFileSync(file, JSON.stringify(busy));
await kubectl(cluster, 'apply', '-f', file);
rmSync(folder, { recursive: true });
await kubectl(cluster, '-n', namespace, 'rollout', 'status', 'deployment/busy', '--timeout=60s');
const page = await context.newPage();
const used = await processorOf(page);
await page.goto(`/clusters/${cluster}/k8s/deployments.v1.apps/${namespace}/busy/logs`);
const view = page.getByRole('log', { name: /^Log of / });
await view.waitFor();
const came = () =>
  page.evaluate(() => {
    const texts = [...document.querySelectorAll('main p span')].map((s) => s.textContent);
    const number = (pattern) => Number((texts.map((t) => pattern.exec(t)).find(Boolean)?.[1] ?? '0').replaceAll(/\D/g, ''));
    return { at: performance.now(), lines: number(/^([\d,. ]+) lines?$/) + number(/^([\d,. ]+) older ones fell out/), fell: number(/^([\d,. ]+) older ones fell out/) };
  });
async function tail(seconds) {
  const traced = await traceTasks(page);
  const [from, before] = [await came(), await used()];
  await new Promise((done) => setTimeout(done, seconds * 1000));
  const [to, after] = [await came(), await used()];
  const tasks = await traced();
  const between = to.at - from.at;
  return { rate: ((to.lines - from.lines) * 1000) / between, cpu: ((after.all - before.all) * 1000) / between, fell: to.fell, wall: tasks.map((t) => t.wall), processor: tasks.map((t) => t.cpu) };
}
await eventually(async () => {
  if ((await came()).lines < 2000) throw new Error('the log does not grow');
});
const growing = await tail(10);
await eventually(async () => {
  if ((await came()).fell === 0) throw new Error('nothing fell out yet');
});
const full = await tail(10);
const wall = [...growing.wall, ...full.wall];
const processor = [...growing.processor, ...full.processor];
const long = (all) => all.filter((ms) => ms > 50).length;
result.tail_lines_s = round(Math.min(growing.rate, full.rate));
result.tail_long_tasks = long(wall);
result.tail_long_tasks_cpu = long(processor);
result.tail_longest_task_ms = round(Math.max(...wall));
result.tail_longest_task_cpu_ms = round(Math.max(...processor));
result.tail_cpu_ms_s = round(Math.max(growing.cpu, full.cpu));
await kubectl(cluster, 'delete', 'namespace', namespace, '--wait=false');
await page.close();
await closeBrowser();
console.log(JSON.stringify(result));
