// What an API server refuses is said in its own words, differently for each cause,
// and what was written stays in the editor.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { shell } from '../lib/shell.mjs';
import { shot } from '../lib/shot.mjs';
import { closeBrowser, eventually, kubectl, logIn, newContext, stack } from '../lib/stack.mjs';

const name = 'paint';
const path = `/clusters/edge-1/k8s/deployments.v1.apps/default/${name}/yaml`;
const policy = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-purple}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [UPDATE], resources: [deployments]}]
  validations: [{expression: "!has(object.metadata.labels) || !('colour' in object.metadata.labels) || object.metadata.labels.colour != 'purple'", message: purple is not allowed here}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-purple}
spec: {policyName: no-purple, validationActions: [Deny]}
`;

before(async () => {
  await kubectl('edge-1', 'delete', 'deployment', name, '--ignore-not-found');
  await kubectl('edge-1', 'create', 'deployment', name, '--image', 'registry.example.test/paint:1', '--replicas', '0');
  await kubectl('edge-1', 'label', 'deployment', name, 'colour=green');
  // A later write of a controller would be a conflict in each test.
  await kubectl('edge-1', 'rollout', 'status', `deployment/${name}`);
  const { code, said } = await shell('edge-1', `kubectl apply -f - <<'POLICY'\n${policy}POLICY`);
  assert.equal(code, 0, said);
  // An API server takes a policy up some time after it has it.
  await eventually(() => assert.rejects(kubectl('edge-1', 'label', 'deployment', name, 'colour=purple', '--overwrite', '--dry-run=server'), /purple is not allowed here/));
});
after(() => kubectl('edge-1', 'delete', 'validatingadmissionpolicy/no-purple', 'validatingadmissionpolicybinding/no-purple', `deployment/${name}`));
after(closeBrowser);

// Somebody at the editor of the object, with what they can do there.
async function editor(email) {
  const page = await logIn(await newContext(), email, path);
  await page.getByRole('button', { name: 'Edit' }).click();
  const box = page.getByRole('textbox', { name: `Edit Deployment ${name}` });
  await box.waitFor();
  // CodeMirror draws only the lines in sight; these objects are short.
  const text = async () => (await box.locator('.cm-line').allInnerTexts()).map((line) => line.replaceAll('​', '').trimEnd()).join('\n');
  return {
    page,
    text,
    async replace(from, to) {
      const before = await text();
      assert.ok(from.test(before), `${from} is not in\n${before}`);
      await box.focus();
      await page.keyboard.press('ControlOrMeta+a');
      await page.keyboard.insertText(before.replace(from, to));
    },
    check: () => page.getByRole('button', { name: 'Check and compare' }).click(),
    refusal: page.getByRole('status').filter({ hasText: 'Your text is kept' }),
  };
}

// Each refusal has its own title and the server's words.
const titles = new Set();
async function refused(e, title, words, kept) {
  await e.refusal.getByText(title).waitFor();
  await e.refusal.getByText(words).first().waitFor();
  assert.match(await e.text(), kept);
  titles.add(title);
}

test('invalid: the field and why', async () => {
  const e = await editor();
  await e.replace(/replicas: 0/, 'replicas: -3');
  await e.check();
  await refused(e, /^Invalid: /, /spec\.replicas: Invalid value: -3: must be greater than or equal to 0/, /replicas: -3/);
  await shot(e.page, 'a9-invalid');
  await e.page.context().close();
});

test('a mistake in the YAML: the line, before anything is sent', async () => {
  const e = await editor();
  await e.replace(/replicas: 0/, 'replicas: [0');
  await e.check();
  await e.page.getByRole('button', { name: /Go to line \d+/ }).waitFor();
  assert.match(await e.text(), /replicas: \[0/);
  await shot(e.page, 'a9-mistake');
  await e.page.context().close();
});

test('conflict: somebody was faster, and the text goes onto the new version', async () => {
  const e = await editor();
  await e.replace(/replicas: 0/, 'replicas: 0 # mine');
  await e.replace(/colour: \w+/, 'colour: blue');
  await kubectl('edge-1', 'annotate', 'deployment', name, `faster=${Date.now()}`, '--overwrite');
  await e.check();
  await refused(e, /^Conflict: /, /Operation cannot be fulfilled on deployments\.apps "paint": the object has been modified/, /colour: blue/);
  await shot(e.page, 'a9-conflict');
  await e.page.getByRole('button', { name: 'Put my text onto the new version' }).click();
  assert.match(await e.text(), /colour: blue/);
  await e.check();
  await e.page.getByText('The API server accepts this. Nothing is changed yet.').waitFor();
  await shot(e.page, 'a9-accepted');
  assert.equal((await kubectl('edge-1', 'get', 'deployment', name, '-o', 'jsonpath={.metadata.labels.colour}')).trim(), 'green');
  await e.page.getByRole('button', { name: 'Apply to the cluster' }).click();
  await e.page.getByText(`${name} is changed.`).waitFor();
  assert.equal((await kubectl('edge-1', 'get', 'deployment', name, '-o', 'jsonpath={.metadata.labels.colour}')).trim(), 'blue');
  await e.page.context().close();
});

test('forbidden: who may not do what', async () => {
  const e = await editor(stack.people.viewer);
  await e.replace(/replicas: 0/, 'replicas: 1');
  await e.check();
  await refused(e, /^Forbidden: /, /viewer@example\.test/, /replicas: 1/);
  await shot(e.page, 'a9-forbidden');
  await e.page.context().close();
});

test('denied by a policy: its own message', async () => {
  const e = await editor();
  await e.replace(/colour: \w+/, 'colour: purple');
  await e.check();
  await refused(e, /^Denied by admission: /, /purple is not allowed here/, /colour: purple/);
  await shot(e.page, 'a9-denied');
  await e.page.context().close();
});

test('the four refusals are four titles', () => assert.equal(titles.size, 4));
