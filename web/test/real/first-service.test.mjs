// From a repository to a healthy service, with the keyboard alone.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { chord, type } from '../lib/keyboard.mjs';
import { shot } from '../lib/shot.mjs';
import { axle, closeBrowser, eventually, logIn, newContext } from '../lib/stack.mjs';

const name = `first-${Date.now().toString(36)}`;
const service = `edge-1/${name}`;

after(async () => {
  await axle('services', 'delete', service, '--yes');
  await eventually(async () => assert.ok(!(await axle('services', 'list', '-o', 'json')).includes(`"${name}"`)));
  await axle('repos', 'delete', name, '--yes');
});
after(closeBrowser);

test('register a repository, deploy its first service, see it healthy', async (t) => {
  const { url } = JSON.parse(await axle('repos', 'get', 'fleet', '-o', 'json'));
  const page = await logIn(await newContext());
  await page.getByRole('heading', { level: 1 }).waitFor();

  await chord(page, 'g', 'i');
  await page.getByRole('button', { name: 'Add a repository' }).first().waitFor();
  await page.keyboard.press('n');
  const dialog = page.getByRole('dialog');
  await type(page, dialog.getByLabel('Name', { exact: true }), name);
  await type(page, dialog.getByLabel('URL', { exact: true }), url);
  await shot(page, 'a5-repository');
  await page.keyboard.press('Enter');
  await page.waitForURL(`**/repositories/${name}`);
  await page.getByRole('button', { name: 'Deploy a service' }).waitFor();
  await shot(page, 'a5-next');
  await page.keyboard.press('n');
  await type(page, dialog.getByLabel('Cluster', { exact: true }), 'edge-1');
  await type(page, dialog.getByLabel('Name', { exact: true }), name);
  await type(page, dialog.getByLabel('Folder', { exact: true }), 'apps/web');
  assert.equal(await dialog.getByRole('region', { name: 'The same as a command' }).innerText(), `axle services create ${service} --repo ${name} --ref main --folder apps/web`);
  await shot(page, 'a5-form');
  const began = Date.now();
  await page.keyboard.press('Enter');
  await page.waitForURL(`**/services/${service}**`);
  await page.getByRole('heading', { level: 1, name }).waitFor();
  await shot(page, 'a5-progress');

  const steps = page.getByRole('region', { name: 'Progress of the desired revision' }).getByRole('listitem');
  await eventually(async () => {
    const said = await steps.allInnerTexts();
    assert.equal(said.length, 5);
    // Each says when it was, and nothing else: a step that is not done has a word.
    for (const step of said) assert.match(step.replaceAll('\n', ' ').trim(), /^(Fetched|Delivered|Rendered|Applied|Healthy) (now|\d+ ?[smh].*)$/);
  });
  t.diagnostic(`healthy on the page after ${((Date.now() - began) / 1000).toFixed(1)} s`);
  await shot(page, 'a5-healthy');
  await page.context().close();
});
