// Who types faster than the network answers (A20): no key is lost, Enter opens what the
// typed words find, and Back goes to the place that was left.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { chord } from '../lib/keyboard.mjs';
import { settled } from '../lib/pages.mjs';
import { closeBrowser, eventually, logIn, newContext, stack } from '../lib/stack.mjs';

after(closeBrowser);

/** Holds the requests that match until it is told to let them go. */
async function held(where, url) {
  let go;
  const gate = new Promise((resolve) => (go = resolve));
  let caught;
  const first = new Promise((resolve) => (caught = resolve));
  await where.route(url, async (route) => {
    caught();
    await gate;
    await route.continue();
  });
  return { first, go };
}

/** Somebody who has the palette open. */
async function inPalette() {
  const context = await newContext();
  const page = await logIn(context);
  await settled(page);
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog').waitFor();
  return { context, page };
}

const pathname = (page) => new URL(page.url()).pathname;

test('keys typed before the palette is loaded are typed into it', { timeout: 120_000 }, async () => {
  const context = await newContext();
  const code = await held(context, /\/assets\/Palette-.*\.js/);
  const page = await logIn(context);
  await settled(page);
  await page.keyboard.press('Control+k');
  await code.first;
  // Of the page, g and s would go to the services, and c copy the link.
  await page.keyboard.type('gs crash-loop');
  for (let n = 0; n < 'gs crash-loop'.length; n++) await page.keyboard.press('Backspace');
  await page.keyboard.type('crash-loop');
  assert.equal(pathname(page), '/', 'a key of the page was pressed');
  code.go();
  const field = page.getByRole('dialog').getByRole('searchbox').or(page.getByRole('dialog').getByRole('textbox')).first();
  await eventually(async () => assert.equal(await field.inputValue(), 'crash-loop'));
  await page.keyboard.type('x');
  assert.equal(await field.inputValue(), 'crash-loopx', 'later keys come after those of before');
  await context.close();
});

test('Enter typed before the palette is loaded opens what was typed', { timeout: 120_000 }, async () => {
  const context = await newContext();
  const code = await held(context, /\/assets\/Palette-.*\.js/);
  const page = await logIn(context);
  await settled(page);
  await page.keyboard.press('Control+k');
  await code.first;
  await page.keyboard.type('s:crash-loop');
  await page.keyboard.press('Enter');
  code.go();
  await eventually(() => assert.equal(pathname(page), '/services/prod/crash-loop'));
  await context.close();
});

test('Enter never opens a result of the query before', { timeout: 120_000 }, async () => {
  const { context, page } = await inPalette();
  await page.keyboard.type('s:drifted');
  await page.getByRole('menuitem', { name: /drifted/ }).or(page.getByRole('option', { name: /drifted/ })).first().waitFor();
  const search = await held(page, /Fleet\/Search/);
  await page.keyboard.press('Control+a');
  await page.keyboard.type('s:crash-loop');
  await search.first;
  // What is shown is of before, by name and marked.
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter');
  assert.equal(pathname(page), '/');
  search.go();
  await eventually(() => assert.equal(pathname(page), '/services/prod/crash-loop'));
  await context.close();
});

test('what an arrow key chose is opened', { timeout: 120_000 }, async () => {
  const { context, page } = await inPalette();
  await page.keyboard.type('s:r');
  const rows = page.getByRole('dialog').locator('[data-key^="service/"]');
  // The results are those of all that is typed.
  await page.getByRole('dialog').locator('[role="menu"]:not([data-busy])').waitFor();
  await eventually(async () => assert.ok((await rows.count()) > 2));
  const label = async (row) => (await row.innerText()).split('\n')[0];
  const chosen = page.getByRole('dialog').locator('[data-focused]');
  const first = await label(rows.first());
  await eventually(async () => {
    await page.keyboard.press('ArrowDown');
    assert.notEqual(await label(chosen), first);
  });
  const name = await label(chosen);
  await page.keyboard.press('Enter');
  await eventually(() => assert.match(pathname(page), new RegExp(`/${name.split('/').pop()}$`)));
  await context.close();
});

for (const { path, row, away } of [
  { path: '/services', row: 'crash-loop', away: /^\/services\/.+\/.+/ },
  { path: '/clusters', row: 'planned', away: /^\/clusters\/.+/ },
]) {
  test(`Back to ${path} restores its place${path === '/services' ? ' and what is selected' : ''}`, { timeout: 120_000 }, async () => {
    const context = await newContext({ viewport: { width: 1440, height: 300 } });
    const page = await logIn(context, stack.email, path);
    await settled(page);
    await page.locator('[role="row"]', { hasText: row }).first().waitFor({ state: 'attached' });
    await page.locator('[role="row"][data-index="0"]').focus();
    await page.keyboard.press('End');
    await page.keyboard.press('ArrowUp');
    if (path === '/services') await page.keyboard.press('x');
    const place = () =>
      page.evaluate(() => ({
        top: document.querySelector('[role="grid"]').scrollTop,
        active: document.querySelector('[role="row"][data-active]')?.dataset.index,
        selected: [...document.querySelectorAll('[role="row"][aria-selected="true"]')].map((r) => r.dataset.index),
      }));
    const left = await place();
    assert.notEqual(left.active, '0');
    // Four clusters fit.
    if (path === '/services') assert.ok(left.top > 0, 'the list is not scrolled');
    assert.equal(left.selected.length, path === '/services' ? 1 : 0);
    await page.keyboard.press('Enter');
    await eventually(() => assert.match(pathname(page), away));
    await settled(page);
    await page.goBack();
    await eventually(() => assert.equal(pathname(page), path));
    await settled(page);
    await eventually(async () => assert.deepEqual(await place(), left));
    // Opened anew, the list begins at its top.
    await page.goForward();
    await eventually(() => assert.match(pathname(page), away));
    await settled(page);
    await chord(page, 'g', path[1]);
    await eventually(() => assert.equal(pathname(page), path));
    await settled(page);
    await eventually(async () => assert.equal((await place()).top, 0));
    assert.deepEqual((await place()).selected, []);
    await context.close();
  });
}
