// A cluster is added by what the page prints, run as it is printed.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { add, atNew, clipboard, command, forget, spare, step } from '../lib/enrolling.mjs';
import { copied, shell } from '../lib/shell.mjs';
import { shot } from '../lib/shot.mjs';
import { closeBrowser, newContext } from '../lib/stack.mjs';

before(() => forget(spare));
after(() => forget(spare));
after(closeBrowser);

const promised = 90_000;

test('the printed command connects the cluster within 90 s', async (t) => {
  const context = await newContext(clipboard);
  const page = await atNew(context);
  await add(page, spare);
  await shot(page, 'a3-command');
  const printed = await copied(page, command);
  const began = Date.now();
  const { code, said } = await shell(spare, printed);
  assert.equal(code, 0, said);
  await step(page, 'The agent has contacted the hub').waitFor();
  await shot(page, 'a3-progress');
  await page.getByRole('heading', { name: `${spare} is connected` }).waitFor({ timeout: promised });
  const took = Date.now() - began;
  t.diagnostic(`connected after ${(took / 1000).toFixed(1)} s`);
  assert.ok(took <= promised, `it took ${took} ms`);
  for (const title of ['Token created', 'The agent has contacted the hub', 'Registered', 'First report', 'Tunnel open', 'The agent has the rights it needs']) {
    assert.match(await step(page, title).innerText(), /ago|now/, title);
  }
  await shot(page, 'a3-connected');
  await page.getByRole('link', { name: 'Open the cluster' }).click();
  await page.getByRole('heading', { level: 1, name: spare }).waitFor();
  assert.deepEqual(page.complaints, []);
  await context.close();
});
