// The console without a mouse: Tab, the keys of a list, chords, overlays, the focus.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { chord } from '../lib/keyboard.mjs';
import { follow, fromTheTop, open, settled, tabOrder } from '../lib/pages.mjs';
import { closeBrowser, eventually, logIn, newContext } from '../lib/stack.mjs';

let page;
before(async () => {
  page = await logIn(await newContext());
});
after(closeBrowser);

const focused = () => page.evaluate(() => ({ tag: document.activeElement.tagName, text: document.activeElement.textContent.trim().slice(0, 60), index: document.activeElement.dataset.index, label: document.activeElement.getAttribute('aria-label') }));
const active = () => page.locator('[role="row"][data-active]').getAttribute('data-index').then(Number);
const selected = () => page.locator('[role="row"][aria-selected="true"]').evaluateAll((rows) => rows.map((r) => Number(r.dataset.index)).toSorted((a, b) => a - b));
const at = (path) => eventually(async () => assert.equal(new URL(page.url()).pathname, path));

test('Tab reaches everything, shows where it is, and leaves the page again', { timeout: 600_000 }, async (t) => {
  for (const path of ['/', '/clusters', '/services', '/services/prod-eu/web', '/services/prod-eu/web?view=graph', '/clusters/prod-eu', '/clusters/new', '/clusters/new/template', '/clusters/prod-eu/readiness', '/repositories', '/rollouts', '/activity', '/audit', '/settings/profile', '/settings/tokens', '/settings/users', '/settings/notifications', '/settings/roles']) {
    await t.test(path, async () => {
      await follow(page, path);
      const order = await tabOrder(page);
      assert.equal(order[0].name, 'Skip to the page', `${path}: the first stop`);
      assert.ok(order.length > 8, `${path}: only ${order.length} stops`);
      const unseen = order.filter((one) => !one.visible || one.width === 0 || one.height === 0);
      assert.deepEqual(unseen, [], `${path}: focus that nobody sees`);
    });
  }
});

test('the first Tab skips to the page', async () => {
  await open(page, '/services');
  await fromTheTop(page);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  // A browser goes to a part of a page with its next frame.
  await eventually(async () => assert.equal(await page.evaluate(() => document.activeElement.id), 'main'));
});

// From row 5 of 12, of which the page shows all: the key, the row after it, and what is selected.
const keys = [
  { press: ['j'], row: 6 },
  { press: ['k'], row: 4 },
  { press: ['ArrowDown'], row: 6 },
  { press: ['ArrowUp'], row: 4 },
  { press: ['Home'], row: 0 },
  { press: ['End'], row: 11 },
  { press: ['PageDown'], row: 11 },
  { press: ['PageUp'], row: 0 },
  { press: ['Home', 'k'], row: 0 },
  { press: ['End', 'j'], row: 11 },
  { press: ['x'], row: 5, rows: [5] },
  { press: ['x', 'x'], row: 5, rows: [] },
  { press: ['x', 'j', 'j', 'Shift+X'], row: 7, rows: [5, 6, 7] },
  { press: ['x', 'Escape'], row: 5, rows: [] },
  { press: [' '], row: 5, rows: [5] },
  { press: ['x', 'Shift+ArrowDown', 'Shift+ArrowDown'], row: 7, rows: [5, 6, 7] },
];

test('keys of a list', { timeout: 300_000 }, async (t) => {
  await follow(page, '/services?sort=name');
  for (const { press, row, rows = [] } of keys) {
    await t.test(press.join(' '), async () => {
      await page.keyboard.press('Escape');
      await page.locator('[role="row"][data-index="5"]').focus();
      for (const key of press) await page.keyboard.press(key);
      await eventually(async () => {
        assert.equal(await active(), row);
        assert.equal((await focused()).index, String(row), 'the focus is on the row');
        assert.deepEqual(await selected(), rows);
      });
    });
  }
});

test('o looks beside the list and Esc closes it, . opens the actions and Esc returns to the row', async () => {
  await follow(page, '/services?sort=name');
  await page.locator('[role="row"][data-index="2"]').focus();
  await page.keyboard.press('o');
  await page.locator('aside, [role="complementary"]').first().waitFor();
  assert.match(page.url(), /peek=/);
  await page.keyboard.press('j');
  await eventually(async () => assert.equal(await page.locator('[role="row"][data-peeked]').getAttribute('data-index'), '3'));
  await page.keyboard.press('Escape');
  await eventually(async () => assert.doesNotMatch(page.url(), /peek=/));
  await eventually(async () => assert.equal((await focused()).index, '3'));
  await page.keyboard.press('.');
  await page.getByRole('menuitem', { name: 'Open' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('menuitem', { name: 'Open' }).waitFor({ state: 'detached' });
  await eventually(async () => assert.equal((await focused()).index, '3', 'the focus returns to the row'));
});

test('Enter opens the row, the focus is on the h1, and back restores the row', async () => {
  await follow(page, '/services?sort=name');
  await page.locator('[role="row"][data-index="1"]').focus();
  await page.keyboard.press('Enter');
  await eventually(async () => assert.match(page.url(), /\/services\/[^/]+\/[^/]+$/));
  await settled(page);
  await eventually(async () => assert.equal((await focused()).tag, 'H1'));
  await page.goBack();
  await at('/services');
});

test('/ is the filter, and letters are letters while typing', async () => {
  await follow(page, '/services');
  await page.keyboard.press('/');
  await eventually(async () => assert.equal((await focused()).tag, 'INPUT'));
  await page.keyboard.type('xgsj');
  assert.equal(await page.evaluate(() => document.activeElement.value), 'xgsj');
  assert.equal(new URL(page.url()).pathname, '/services');
  await page.keyboard.press('Escape');
  await eventually(async () => assert.notEqual((await focused()).tag, 'INPUT'));
});

const chords = { 'g h': '/', 'g c': '/clusters', 'g s': '/services', 'g r': '/rollouts', 'g i': '/repositories', 'g a': '/activity', 'g u': '/audit', 'g ,': '/settings/profile' };

test('g and a letter go to a page, whose h1 has the focus', { timeout: 300_000 }, async (t) => {
  await follow(page, '/audit');
  for (const [keys, path] of Object.entries(chords)) {
    await t.test(keys, async () => {
      await chord(page, ...keys.split(' '));
      await at(path);
      await settled(page);
      await eventually(async () => assert.equal((await focused()).tag, 'H1'));
    });
  }
});

for (const [key, name] of [['?', 'Keys'], ['Control+k', 'Search and commands']]) {
  test(`${key} opens ${name}, keeps the focus inside, and Esc gives it back`, async () => {
    await follow(page, '/services?sort=name');
    await page.locator('[role="row"][data-index="4"]').focus();
    await page.keyboard.press(key);
    const dialog = page.getByRole('dialog', { name });
    await dialog.waitFor();
    const inside = async () => assert.ok(await page.evaluate(() => document.activeElement.closest('[role="dialog"]') !== null), 'the focus is not in the dialog');
    await eventually(inside); // it comes after what it is in
    for (let n = 0; n < 5; n++) {
      await page.keyboard.press('Tab');
      await inside();
    }
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await eventually(async () => assert.equal((await focused()).index, '4'));
  });
}

test('the palette goes to a service by name', async () => {
  await follow(page, '/');
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog', { name: 'Search and commands' }).waitFor();
  await page.keyboard.type('prod-us/work');
  await page.getByRole('menuitem', { name: /worker/ }).or(page.getByRole('option', { name: /worker/ })).first().waitFor();
  await page.keyboard.press('Enter');
  await at('/services/prod-us/worker');
  await settled(page);
  await eventually(async () => assert.equal((await focused()).tag, 'H1'));
});

test('single letters can be turned off; chords, Enter and the palette stay', async () => {
  await follow(page, '/services?sort=name');
  await page.getByRole('button', { name: /^You: / }).click();
  const off = page.getByRole('radiogroup', { name: 'Single-letter keys' }).or(page.getByRole('group', { name: 'Single-letter keys' }));
  await off.getByText('Off').click();
  await page.keyboard.press('Escape');
  try {
    await page.locator('[role="row"][data-index="5"]').focus();
    for (const key of ['j', 'x', 'o', '?', 'g', 's']) await page.keyboard.press(key);
    assert.equal(await active(), 5);
    assert.deepEqual(await selected(), []);
    assert.equal(await page.getByRole('dialog').count(), 0);
    await page.keyboard.press('ArrowDown');
    await eventually(async () => assert.equal(await active(), 6));
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog', { name: 'Search and commands' }).waitFor();
    await page.keyboard.press('Escape');
  } finally {
    await page.evaluate(() => localStorage.clear());
  }
});
