// A service as a graph: 320 settings, and a pod whose image nobody has. What fails is drawn,
// a group stands for what does not fit, and all of it can be reached by keys.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { enter, tabTo } from '../lib/keyboard.mjs';
import { checkAxe, fitsAcross, open, settled } from '../lib/pages.mjs';
import { shot } from '../lib/shot.mjs';
import { act, axle, closeBrowser, eventually, logIn, newContext } from '../lib/stack.mjs';

const name = 'crowd';
const service = `edge-1/${name}`;
const path = `/services/${service}`;
const settings = 320;
const most = 300;

before(async () => {
  const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: crowd}
spec:
  replicas: 1
  selector: {matchLabels: {app: crowd}}
  template:
    metadata: {labels: {app: crowd}}
    spec: {terminationGracePeriodSeconds: 1, containers: [{name: crowd, image: "axle.test/nobody-has-it:1"}]}
`;
  const maps = Array.from({ length: settings }, (_, i) => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings-${i}}\n`).join('---\n');
  await act({ do: 'commit', repo: 'fleet', message: 'feat(crowd): many settings', files: { 'apps/crowd/crowd.yaml': deployment, 'apps/crowd/settings.yaml': maps } });
  await axle('services', 'create', service, '--repo', 'fleet', '--ref', 'main', '--folder', 'apps/crowd');
  await eventually(async () => assert.match(await axle('services', 'tree', service), /Pod .*crowd-.*Degraded/));
});
after(() => axle('services', 'delete', service, '--yes'));
after(closeBrowser);

test('a graph of more objects than it draws', { timeout: 300_000 }, async (t) => {
  const context = await newContext();
  const page = await logIn(context, undefined, path);
  const graph = page.getByRole('tree', { name: 'Components' });
  const boxes = graph.getByRole('treeitem');
  const group = graph.getByRole('treeitem', { name: /^\+\d+ configmaps/ });
  // Until the cluster has answered, what the agent reported is drawn, which is without the pod.
  const drawn = () => Promise.all([group.waitFor(), graph.getByRole('treeitem', { name: /^Pod crowd/ }).waitFor()]);
  const focused = () => page.evaluate(() => document.activeElement.getAttribute('aria-label') ?? document.activeElement.tagName);
  const press = async (key, expected) => {
    await page.keyboard.press(key);
    assert.match(await focused(), expected, `after ${key}`);
  };
  const openGraph = async () => {
    await open(page, `${path}?view=graph`);
    await drawn();
  };

  await t.test('the tree comes first, and the address keeps the graph', async () => {
    await page.getByRole('treegrid', { name: 'Components' }).waitFor();
    await enter(page, page.getByRole('button', { name: 'Graph', exact: true }));
    await group.waitFor();
    assert.equal(new URL(page.url()).searchParams.get('view'), 'graph');
    await page.reload();
    await drawn();
    assert.equal(await page.getByRole('treegrid').count(), 0);
  });

  await t.test('at most 300 boxes; what fails is first, and the group counts the rest', async () => {
    const labels = await boxes.evaluateAll((all) => all.map((one) => one.getAttribute('aria-label')));
    assert.equal(labels.length, most);
    assert.match(labels[0], /^This service, crowd, /);
    for (const [i, kind] of ['Deployment', 'ReplicaSet', 'Pod'].entries()) assert.match(labels[i + 1], new RegExp(`^${kind} crowd.*, ${kind === 'Pod' ? 'Degraded' : '(Progressing|Degraded)'}`));
    const drawn = labels.filter((one) => one.startsWith('ConfigMap ')).length;
    assert.match(labels.at(-1), new RegExp(`^\\+${settings - drawn} configmaps, Healthy, `));
    assert.ok(drawn < settings && drawn > most - 10, `${drawn} settings`);
    assert.ok(labels.every((one) => /, \w/.test(one)), 'a box without a state');
    await shot(page, 'graph');
  });

  await t.test('nothing sticks out of its box, and the page does not scroll sideways', async () => {
    for (const width of [1440, 390, 320]) {
      await page.setViewportSize({ width, height: 844 });
      const out = await boxes.evaluateAll((all) =>
        all.filter((one) => {
          const edge = one.getBoundingClientRect();
          return [...one.children].some((part) => {
            const { left, right, top, bottom } = part.getBoundingClientRect();
            return left < edge.left || right > edge.right || top < edge.top || bottom > edge.bottom;
          });
        }).map((one) => one.textContent),
      );
      assert.deepEqual(out, [], `at ${width} px`);
      await fitsAcross(page, `at ${width} px`);
    }
    await page.setViewportSize({ width: 1440, height: 900 });
  });

  await t.test('axe has nothing to say', () => checkAxe(page, 'the graph', { looks: true }));

  await t.test('one stop of Tab, arrows from box to box, Enter opens', async () => {
    await openGraph();
    assert.equal(await graph.locator('[role="treeitem"][tabindex="0"]').count(), 1);
    await tabTo(page, boxes.first());
    await press('ArrowRight', /^Deployment crowd/);
    await press('ArrowDown', /^ConfigMap settings-/);
    await press('ArrowUp', /^Deployment crowd/);
    await press('End', /^\+\d+ configmaps/);
    await press('ArrowLeft', /^This service/);
    await press('ArrowRight', /^Deployment crowd/);
    await press('ArrowRight', /^ReplicaSet crowd/);
    await press('ArrowRight', /^Pod crowd/);
    // Tab leaves the graph, and comes back to where one was.
    await page.keyboard.press('Tab');
    assert.doesNotMatch(await focused(), /^(Pod|ConfigMap|This|Deployment|\+)/);
    await press('Shift+Tab', /^Pod crowd/);
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/pods\.v1\/crowd\/crowd-/);
    await page.goBack();
    await group.waitFor();
  });

  await t.test('the filter and Only problems are those of the tree', async () => {
    await page.getByRole('checkbox', { name: 'Only problems' }).check();
    await eventually(async () => assert.equal(await boxes.count(), 4));
    await page.getByRole('checkbox', { name: 'Only problems' }).uncheck();
    const filter = page.getByRole('searchbox', { name: 'Filter components' });
    await filter.fill('settings-31');
    // settings-31 and settings-310 to settings-319, and the service.
    await eventually(async () => assert.equal(await boxes.count(), 12));
    await filter.fill('nobody');
    await page.getByText('Nothing matches').waitFor();
    await filter.fill('');
    await group.waitFor();
  });

  await t.test('a group shows in the tree what it stands for', async () => {
    await openGraph();
    await tabTo(page, boxes.first());
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    await page.getByRole('treegrid', { name: 'Components' }).waitFor();
    assert.equal(new URL(page.url()).searchParams.get('view'), null);
    assert.equal(await page.getByRole('searchbox', { name: 'Filter components' }).inputValue(), `ConfigMap ${name}/settings-`);
    assert.equal(await focused(), 'INPUT');
    assert.equal(await page.getByRole('row', { name: 'settings-' }).count(), settings);
  });
  await settled(page);
  assert.deepEqual(page.complaints, []);
  await context.close();
});
