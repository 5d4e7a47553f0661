// Somebody changes objects of a service with kubectl. What they add shows as drift,
// field by field. What they change is healed at once, so that it is compared on a
// paused service; Resume takes it back. A Secret's value is never in the page.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { shot } from '../lib/shot.mjs';
import { act, axle, closeBrowser, eventually, kubectl, logIn, newContext } from '../lib/stack.mjs';

const name = 'drifter';
const service = `edge-2/${name}`;
// What only the cluster may know, before and after somebody changed it.
const canary = `canary-${Date.now().toString(36)}`;
const changed = `changed-${canary}`;
const encoded = [canary, changed].map((text) => Buffer.from(text).toString('base64'));

before(async () => {
  await act({
    do: 'commit',
    repo: 'fleet',
    message: 'feat(drifter): settings and a password',
    files: {
      'apps/drifter/settings.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {colour: blue}\n',
      'apps/drifter/password.yaml': `apiVersion: v1\nkind: Secret\nmetadata: {name: password}\nstringData: {password: ${canary}}\n`,
    },
  });
  await axle('services', 'create', service, '--repo', 'fleet', '--ref', 'main', '--folder', 'apps/drifter', '--wait');
});
after(() => axle('services', 'delete', service, '--yes'));
after(closeBrowser);

test('drift by kubectl: shown, compared, taken back, and no secret in the page', async () => {
  const context = await newContext();
  const page = await logIn(context);
  const answers = [];
  page.on('response', (response) => response.text().then((text) => answers.push(`${response.url()}\n${text}`), () => {}));
  const hidden = async (alsoIn = answers) => {
    const dom = await page.content();
    for (const secret of [canary, changed, ...encoded]) {
      assert.ok(!dom.includes(secret), `${page.url()} has the secret in its DOM`);
      const leak = alsoIn.find((text) => text.includes(secret));
      assert.equal(leak, undefined, `an answer has the secret: ${leak?.split('\n')[0]}`);
    }
  };
  await page.goto(`/services/${service}`);
  await page.getByRole('heading', { level: 1, name }).waitFor();
  const patch = (kind, object, change) => kubectl('edge-2', '--namespace', name, 'patch', kind, object, '--type=merge', '-p', JSON.stringify(change));
  await patch('configmap', 'settings', { data: { added: 'by-hand' } });
  await page.getByText('Drifted').first().waitFor();
  await page.getByText(/data\.added/).first().waitFor();
  await shot(page, 'a7-drifted');
  // The comparison names the field too, and says why an apply leaves it.
  const compare = async () => {
    await page.getByRole('link', { name: 'Diff', exact: true }).click();
    await page.getByRole('button', { name: /Compare now|Compare again/ }).first().click();
  };
  await compare();
  await page.getByText(/data\.added \(by kubectl-patch\); they stay, because drift is only reported/).first().waitFor();
  await shot(page, 'a7-added');
  await patch('configmap', 'settings', { data: { added: null } });
  await eventually(async () => assert.equal(await page.getByText('Drifted').count(), 0));

  await axle('services', 'pause', service, '--reason', 'somebody works on it');
  await page.getByText('The agent applies, heals and prunes nothing until it is resumed.').waitFor();
  // Until the agent has reported that it stopped, it heals.
  await eventually(async () => {
    const { sync, reason = '' } = JSON.parse(await axle('services', 'get', service, '-o', 'json'));
    assert.deepEqual([sync, reason], ['Paused', '']);
  });
  await patch('configmap', 'settings', { data: { colour: 'red' } });
  await patch('secret', 'password', { stringData: { password: changed } });
  await hidden();
  await compare();
  await page.getByText(/colour: red/).first().waitFor();
  await page.getByText(/colour: blue/).first().waitFor();
  await page.getByText('Its data changes. Values of Secrets are not shown.').waitFor();
  await shot(page, 'a7-diff');
  await hidden();

  await page.getByRole('button', { name: 'Resume' }).first().click();
  await page.getByText(`${service} is resumed`).first().waitFor();
  await eventually(async () => assert.equal((await kubectl('edge-2', '--namespace', name, 'get', 'configmap', 'settings', '-o', 'jsonpath={.data.colour}')).trim(), 'blue'));
  await page.getByText('Paused').first().waitFor({ state: 'hidden' });
  await shot(page, 'a7-resumed');
  await hidden();

  // The object's own page reads the Secret from the cluster and masks it, also in the
  // YAML: what it read is never in the document.
  await page.goto(`/clusters/edge-2/k8s/secrets.v1/${name}/password/yaml`);
  await page.getByRole('button', { name: 'Edit' }).waitFor();
  await shot(page, 'a7-secret');
  await hidden([]);
  await context.close();
});
