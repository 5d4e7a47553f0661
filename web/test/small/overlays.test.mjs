// What opens above a page keeps the contract too, and so does a page that may not be read.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { checkAxe, contract, open, sideways } from '../lib/pages.mjs';
import { closeBrowser, logIn, newContext, stack } from '../lib/stack.mjs';

after(closeBrowser);

const press = (name) => (page) => page.getByRole('main').getByRole('button', { name }).first().click();
const key = (keys) => (page) => page.keyboard.press(keys);
const overlays = [
  { what: 'palette', path: '/services', show: key('Control+k'), role: 'dialog' },
  { what: 'sheet of keys', path: '/services', show: key('?'), role: 'dialog' },
  { what: 'menu of the person', path: '/', covers: true, show: (page) => page.getByRole('button', { name: /^You: / }).click(), role: 'group', name: 'You' },
  { what: 'pause', path: '/services/prod-eu/web', show: press('Pause…'), role: 'dialog' },
  { what: 'rollback', path: '/services/prod-eu/web', show: press('Roll back…'), role: 'dialog' },
  { what: 'delete of a cluster', path: '/clusters/prod-eu/settings', show: press(/^Delete prod-eu/), role: 'alertdialog' },
  { what: 'add a repository', path: '/repositories', show: press('Add a repository'), role: 'dialog' },
  { what: 'add a sink', path: '/settings/notifications', show: press('Add a sink'), role: 'dialog' },
  { what: 'give a role', path: '/settings/roles', show: press('Give a role'), role: 'dialog' },
];

test('overlays', { timeout: 300_000 }, async (t) => {
  const context = await newContext();
  const page = await logIn(context);
  for (const { what, path, show, role, name, covers } of overlays) {
    await t.test(what, async () => {
      await page.setViewportSize({ width: 1440, height: 900 });
      await open(page, path);
      await show(page);
      const overlay = page.getByRole(role, name ? { name } : {}).last();
      await overlay.waitFor();
      await checkAxe(page, what, { forced: true, covers });
      await page.setViewportSize({ width: 320, height: 844 });
      assert.deepEqual(await sideways(page), [], `${what}: scrolls sideways at 320 px`);
      await page.keyboard.press('Escape');
      await overlay.waitFor({ state: 'detached' });
    });
  }
  await context.close();
});

const may = /status of (403|404|503)/;
contract(test, ['/', '/clusters', '/services', '/repositories', '/audit', '/settings/users', '/settings/roles', '/services/prod-eu/web', '/clusters/prod-eu/settings'], { as: stack.people.viewer, may });
contract(test, ['/', '/clusters', '/services', '/repositories', '/audit', '/settings/users', '/services/prod-eu/web', '/clusters/prod-eu'], { as: stack.people.stranger, may });
