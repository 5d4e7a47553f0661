// Saved views: an address with a name, kept in this browser, for the person who saved it.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { enter, palette, type } from '../lib/keyboard.mjs';
import { checkAxe, fitsAcross, follow, fromTheTop, open, settled, small } from '../lib/pages.mjs';
import { shot } from '../lib/shot.mjs';
import { closeBrowser, eventually, logIn, newContext, stack } from '../lib/stack.mjs';

after(closeBrowser);

const views = (page) => page.getByRole('navigation', { name: 'Main' }).getByRole('list', { name: 'Views' });
const control = (page) => page.getByRole('main').getByRole('button', { name: /^(Save view|View:)/ });
const rows = (page) => page.locator('[role="row"][data-index]').evaluateAll((all) => all.map((r) => r.dataset.id));
// A field or dialog that opens has the focus some time after it is there, and takes keys only then.
const focused = (page, locator) => eventually(async () => assert.ok(await locator.evaluate((e) => e === document.activeElement), 'the focus is elsewhere'));

/** Stores views as a person would who edits the storage. */
async function store(page, list) {
  await page.evaluate(async (list) => {
    const { id } = await (await fetch('/login/session')).json();
    localStorage.setItem('axle.preferences', JSON.stringify({ views: { [id]: list } }));
  }, list);
}

test('a view is saved, found, renamed, updated and removed by keyboard', { timeout: 300_000 }, async () => {
  const context = await newContext();
  const page = await logIn(context, stack.email, '/services');
  await settled(page);
  await fromTheTop(page);
  assert.equal(await control(page).count(), 0, 'a list that shows all has nothing to save');
  assert.equal(await views(page).count(), 0, 'there is a heading without views');

  await page.keyboard.press('/');
  await page.keyboard.type('web');
  await eventually(async () => assert.match(page.url(), /\?q=web$/));
  await eventually(async () => assert.equal((await rows(page)).length, 3));
  const [address, shown] = [page.url(), await rows(page)];

  await enter(page, control(page));
  const dialog = page.getByRole('dialog');
  assert.equal(await dialog.getByLabel('Name').inputValue(), 'Services where name has “web”');
  await focused(page, dialog.getByLabel('Name'));
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await focused(page, control(page));
  await page.keyboard.press('Enter');
  await dialog.waitFor();
  await type(page, dialog.getByLabel('Name'), 'Every web');
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  await focused(page, control(page));
  const link = (name) => views(page).getByRole('link', { name, exact: true });
  assert.equal(await link('Every web').getAttribute('aria-current'), 'page');
  assert.equal(new URL(await link('Every web').evaluate((a) => a.href)).pathname, '/services');
  await shot(page, 'views');

  await open(page, '/clusters');
  assert.equal(await link('Every web').getAttribute('aria-current'), null);
  await palette(page, 'every web', 'Every web');
  await eventually(async () => assert.equal(page.url(), address));
  await settled(page);
  await eventually(async () => assert.deepEqual(await rows(page), shown));

  await enter(page, control(page));
  await focused(page, page.getByRole('menuitem', { name: 'Rename…' }));
  await page.keyboard.press('Enter');
  await focused(page, dialog.getByLabel('Name'));
  await page.keyboard.type('All of web');
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  await focused(page, control(page));
  await link('All of web').waitFor();

  // By the link: the same list. Then another order, which the view takes over.
  await open(page, '/activity');
  await enter(page, link('All of web'));
  await eventually(async () => assert.equal(page.url(), address));
  await settled(page);
  await page.goto(`${address}&sort=-name`);
  await settled(page);
  assert.equal(await control(page).innerText(), 'Save view', 'another address is another view');
  await page.goBack();
  await eventually(async () => assert.match(await control(page).innerText(), /All of web/));
  await page.getByRole('columnheader', { name: 'Name' }).getByRole('button').click();
  await eventually(async () => assert.match(await control(page).innerText(), /All of web\s*changed/));
  await enter(page, control(page));
  await focused(page, page.getByRole('menuitem', { name: 'Update “All of web”' }));
  await page.keyboard.press('Enter');
  await eventually(async () => assert.match(await link('All of web').getAttribute('href'), /sort=name/));

  await enter(page, control(page));
  await eventually(async () => assert.ok(await page.getByRole('menu').evaluate((e) => e.contains(document.activeElement)), 'the menu does not have the focus'));
  await page.keyboard.press('End');
  await focused(page, page.getByRole('menuitem', { name: 'Remove' }));
  await page.keyboard.press('Enter');
  await eventually(async () => assert.equal(await views(page).count(), 0));
  await focused(page, control(page));
  assert.equal(await control(page).innerText(), 'Save view');
  await enter(page, page.getByRole('status', { name: 'Notices' }).filter({ hasText: 'is removed' }).getByRole('button', { name: 'Undo' }).last());
  await link('All of web').waitFor();
  await focused(page, control(page));
  await page.reload();
  await link('All of web').waitFor();
  assert.deepEqual(page.complaints, []);
  await context.close();
});

test('the palette opens a view by its whole name, and what the hub finds by less', async () => {
  const context = await newContext();
  const page = await logIn(context);
  await store(page, [{ name: 'prod-eu', path: '/clusters', search: '?q=prod' }]);
  await open(page, '/');
  await palette(page, 'Prod-EU', /prod-eu/);
  await eventually(async () => assert.equal(page.url(), `${stack.url}/clusters?q=prod`));
  await palette(page, 'prod-e', /prod-eu/);
  await eventually(async () => assert.equal(page.url(), `${stack.url}/clusters/prod-eu`));
  await context.close();
});

test('what is stored leads nowhere else', async () => {
  const context = await newContext();
  const page = await logIn(context);
  const left = [];
  await context.route((url) => url.origin !== new URL(stack.url).origin, (route) => {
    left.push(route.request().url());
    return route.abort();
  });
  const paths = ['javascript:alert(1)', 'https://evil.test/services', '//evil.test/services', '/\\evil.test', '/services/../logout', '/logout', '/login/account'];
  await store(page, [...paths.map((path, n) => ({ name: `bad ${n}`, path, search: '' })), 7, null, { name: 'good', path: '/services', search: '?q=web' }]);
  await open(page, '/services');
  assert.deepEqual(await views(page).getByRole('link').allInnerTexts(), ['good']);
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.type('bad');
  await page.getByText('Nothing is called “bad”.').waitFor();
  await page.keyboard.press('Escape');
  for (const preferences of ['{', '[]', 'null', '"x"', '{"views":7}', '{"views":null}']) {
    await page.evaluate((text) => localStorage.setItem('axle.preferences', text), preferences);
    await open(page, '/services?q=web');
    assert.equal(await control(page).innerText(), 'Save view', preferences);
  }
  assert.deepEqual(left, []);
  assert.deepEqual(page.complaints, []);
  await context.close();
});

test('somebody else at the same browser does not see them', async () => {
  const context = await newContext();
  const page = await logIn(context);
  await store(page, [{ name: 'of an administrator', path: '/services', search: '?q=web' }]);
  await open(page, '/services');
  assert.equal(await views(page).getByRole('link').count(), 1);
  await page.close();
  await context.clearCookies();
  const other = await logIn(context, stack.people.viewer, '/services');
  await settled(other);
  assert.equal(await views(other).count(), 0);
  assert.match(await other.evaluate(() => localStorage.getItem('axle.preferences')), /of an administrator/, 'they wait for their owner');
  await context.close();
});

test('views keep the contract of a page, and are in the navigation of a phone', { timeout: 300_000 }, async () => {
  const context = await newContext({ hasTouch: true });
  const page = await logIn(context);
  await store(page, [
    { name: 'Failed services of prod-eu', path: '/services', search: '?verdict=Failed&cluster=prod-eu' },
    { name: 'Services of which the namespace is web or the repository fl', path: '/services', search: '?q=web' },
    { name: 'x'.repeat(60), path: '/clusters', search: '?freshness=Fresh' },
    { name: 'Refused', path: '/audit', search: '?result=forbidden' },
    { name: 'Applied', path: '/activity', search: '?tab=events&kind=service.applied' },
    { name: 'Git', path: '/repositories', search: '?type=git' },
  ]);
  let to = open;
  for (const path of ['/services?q=web', '/services?q=none', '/clusters?freshness=Fresh', '/audit?result=forbidden', '/activity?tab=events&kind=service.applied', '/repositories?type=git', '/clusters/prod-eu/services?q=web']) {
    await page.setViewportSize({ width: 1440, height: 900 });
    await to(page, path);
    to = follow;
    await control(page).waitFor();
    await checkAxe(page, path);
    for (const width of [390, 320]) {
      await page.setViewportSize({ width, height: 844 });
      await fitsAcross(page, `${path} at ${width} px`);
      assert.deepEqual(await small(page), [], `${path}: a thumb misses it at ${width} px`);
    }
  }
  await page.setViewportSize({ width: 320, height: 844 });
  await open(page, '/services');
  await page.getByRole('button', { name: 'Navigation' }).click();
  await checkAxe(page, 'the navigation of a phone', { looks: true, covers: true });
  assert.equal(await views(page).getByRole('link').count(), 6);
  // Another filter of the same page closes the drawer too.
  await views(page).getByRole('link', { name: 'Failed services of prod-eu' }).click();
  await eventually(async () => assert.match(page.url(), /verdict=Failed&cluster=prod-eu$/));
  await views(page).waitFor({ state: 'hidden' });
  assert.deepEqual(page.complaints, []);
  await context.close();
});
