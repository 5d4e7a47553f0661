// What opens above a page: dialogs, menus, panels. One table for the tests of what they
// contain (axe, 320 px, Escape) and for the pictures. `what` names it in both, after its
// `path`, or `as` where the path has an id; `narrow: false` is not there on a phone, and
// `covers` lies above the page without a veil. `loads` needs a page that was just loaded.
import { checkAxe, fitsAcross, follow, open } from './pages.mjs';
import { logIn, newContext } from './stack.mjs';

const first = (button) => button.first().click();
export const press = (name) => (page) => first(page.getByRole('main').getByRole('button', { name }));
const above = (name) => (page) => first(page.getByRole('banner').getByRole('button', { name }));
const key = (...keys) => async (page) => {
  for (const one of keys) await page.keyboard.press(one);
};
/** Presses keys on the first row of a list. */
const onRow = (...keys) => async (page) => {
  await page.locator('[role="row"][data-index="0"]:not([data-id=""])').focus();
  await key(...keys)(page);
};
/** Selects all rows of a list, and presses a button of what can be done with them. */
const withAll = (name) => async (page) => {
  await onRow('x')(page);
  const bar = page.getByRole('region', { name: 'Selection' });
  await bar.getByRole('button', { name: /^Select all/ }).click();
  await bar.getByRole('button', { name }).click();
};
/** Opens the menu of a button in a row, and chooses what it offers. */
const pick = (menu, item) => async (page) => {
  await press(menu)(page);
  await page.getByRole('menuitem', { name: item, exact: true }).click();
};
/** Fills a form above the page and sends it, so that the next thing opens. */
const sent = (opener, fields, submit) => async (page) => {
  await opener(page);
  const form = page.getByRole('dialog');
  for (const [label, text] of Object.entries(fields)) await form.getByLabel(label, { exact: true }).fill(text);
  await form.getByRole('button', { name: submit, exact: true }).click();
  await form.waitFor({ state: 'detached' });
};

/** Saves what a list shows as a view. The next page that is opened has it no more. */
const saved = (then) => async (page) => {
  await sent(press('Save view'), { Name: 'Healthy in prod-eu' }, 'Save')(page);
  await page.getByRole('status', { name: 'Notices' }).getByRole('button', { name: 'Dismiss' }).click();
  await page.evaluate(() => localStorage.removeItem('axle.preferences'));
  await then(page);
};
/** Keeps as many views as there may be, and saves one more. */
const overfull = async (page) => {
  await page.evaluate(async () => {
    const { id } = await (await fetch('/login/session')).json();
    const views = Array.from({ length: 20 }, (_, n) => ({ name: `Services of cluster ${n + 1}`, path: '/services', search: `?cluster=cluster-${n + 1}` }));
    localStorage.setItem('axle.preferences', JSON.stringify({ views: { [id]: views } }));
  });
  await open(page, page.url());
  await page.evaluate(() => localStorage.removeItem('axle.preferences'));
  await press('Save view')(page);
};

const dialog = { role: 'dialog' };
export const alert = { role: 'alertdialog' };
const drop = (name) => ({ role: 'group', name, covers: true });
const menu = { role: 'menu', covers: true };

/** What the profile small has from the beginning. Looking at it changes nothing. */
export const small = [
  { what: 'palette', path: '/', ...dialog, show: key('Control+k') },
  { what: 'person', path: '/', ...drop('You'), show: above(/^You: /) },
  { what: 'bell', path: '/', ...dialog, name: 'Notifications', covers: true, show: above(/^Notifications/) },
  { what: 'keys', path: '/services', ...dialog, show: key('?') },
  { what: 'facet', path: '/services', ...drop('Status'), narrow: false, show: press('Status') },
  { what: 'filters', path: '/services', ...drop('More filters'), show: press(/^Filter$/) },
  { what: 'columns', path: '/services', ...drop('Columns'), show: press('Columns') },
  { what: 'actions', path: '/services', ...menu, show: onRow('.') },
  { what: 'peek', path: '/services', role: 'complementary', show: onRow('o') },
  { what: 'deploy', path: '/services', ...dialog, show: press('Deploy a service') },
  { what: 'sync-all', path: '/services', ...dialog, show: withAll('Sync') },
  { what: 'pause-all', path: '/services', ...dialog, show: withAll('Pause…') },
  { what: 'roll-back-all', path: '/services', ...dialog, show: withAll('Roll back…') },
  { what: 'save-view', loads: true, path: '/services?verdict=Healthy&cluster=prod-eu', ...dialog, show: press('Save view') },
  { what: 'views-full', loads: true, path: '/services?verdict=Healthy&cluster=prod-eu', ...dialog, show: overfull },
  { what: 'view', loads: true, path: '/services?verdict=Healthy&cluster=prod-eu', ...menu, show: saved(press(/^View:/)) },
  { what: 'view-changed', loads: true, path: '/services?verdict=Healthy&cluster=prod-eu', ...menu, show: saved(async (page) => {
    await press(/^status is Healthy/)(page);
    await press(/^View:/)(page);
  }) },
  { what: 'rename-view', loads: true, path: '/services?verdict=Healthy&cluster=prod-eu', ...dialog, show: saved(pick(/^View:/, 'Rename…')) },
  { what: 'pause', path: '/services/prod-eu/web', ...dialog, show: press('Pause…') },
  { what: 'roll-back', path: '/services/prod-eu/web', ...dialog, show: press('Roll back…') },
  { what: 'peek', path: '/clusters', role: 'complementary', show: onRow('o') },
  { what: 'delete', path: '/clusters/prod-eu/settings', ...alert, show: press(/^Delete prod-eu/) },
  { what: 'add', path: '/repositories', ...dialog, show: press('Add a repository') },
  { what: 'edit', path: '/repositories/fleet', ...dialog, show: press('Edit') },
  { what: 'delete', path: '/repositories/fleet', ...alert, show: press('Delete') },
  { what: 'record', path: '/audit?record=1', ...dialog, show: async () => {} },
  { what: 'end', path: '/settings/profile', ...alert, show: press(/^End /) },
  { what: 'log-out', path: '/settings/profile', ...alert, show: press('Log out everywhere') },
  { what: 'create', path: '/settings/tokens', ...dialog, show: press('Create a token') },
  { what: 'create-bootstrap', path: '/settings/tokens', ...dialog, show: press('Create a bootstrap token') },
  { what: 'revoke', path: '/settings/tokens', ...alert, show: press(/^Revoke /) },
  { what: 'create', path: '/settings/users', ...dialog, show: press('Create a user') },
  { what: 'menu', path: '/settings/users', ...menu, show: press('Actions for writer@example.test') },
  { what: 'administrator', path: '/settings/users', ...dialog, show: pick('Actions for writer@example.test', 'Make an administrator') },
  { what: 'no-administrator', path: '/settings/users', ...alert, show: pick('Actions for you@example.test', 'No longer an administrator') },
  { what: 'log-out', path: '/settings/users', ...alert, show: pick('Actions for writer@example.test', 'Log out everywhere') },
  { what: 'unlink', path: '/settings/users', ...alert, show: pick('Actions for writer@example.test', 'Unlink from login providers') },
  { what: 'delete', path: '/settings/users', ...alert, show: pick('Actions for writer@example.test', 'Delete') },
  { what: 'create', path: '/settings/groups', ...dialog, show: press('Create a group') },
  { what: 'create', path: '/settings/service-accounts', ...dialog, show: press('Create a service account') },
  { what: 'give', path: '/settings/roles', ...dialog, show: press('Give a role') },
  { what: 'change', path: '/settings/roles', ...dialog, show: press(/^Change .*writer@example.test/) },
  { what: 'add', path: '/settings/auth', ...dialog, show: press('Add a provider') },
  { what: 'add-sink', path: '/settings/notifications', ...dialog, show: press('Add a sink') },
  { what: 'create', path: '/settings/webhooks', ...dialog, show: press('Create a webhook') },
  { what: 'create', path: '/settings/projects', ...dialog, show: press('Create a project') },
  { what: 'edit', path: '/settings/projects', ...dialog, show: press('Edit default') },
  { what: 'create', path: '/settings/contexts', ...dialog, show: press('Create a context') },
  { what: 'rotate', path: '/settings/hub', ...alert, show: press('Rotate the signing key') },
  { what: 'windows', path: '/settings/hub', ...dialog, show: press('Edit') },
  { what: 'upgrade', path: '/settings/hub', ...dialog, show: press('Start an upgrade') },
];

/** What the profile small has after furnishSmall, of an operation that failed. */
export const furnished = (failed) => [
  { what: 'destroy', path: '/clusters/shop-1/settings', ...alert, show: press(/^Destroy shop-1/) },
  { what: 'delete', path: '/clusters/shop-1/settings', ...alert, show: press(/^Delete shop-1/) },
  { what: 'bell-full', path: '/', ...dialog, name: 'Notifications', covers: true, show: above(/^Notifications/) },
  { what: 'retry', path: `/operations/${failed}`, as: '/operations/failed', ...dialog, show: press(/^Retry/) },
  { what: 'pause', path: '/rollouts/log-shipper', ...dialog, show: press('Pause') },
  { what: 'abort', path: '/rollouts/log-shipper', ...alert, show: press('Abort') },
  { what: 'delete', path: '/rollouts/log-shipper', ...alert, show: press('Delete') },
  { what: 'resume', path: '/rollouts/reports', ...dialog, show: press('Resume') },
  { what: 'delete', path: '/managed-namespaces/monitoring', ...alert, show: press('Delete') },
  { what: 'revoke-bootstrap', path: '/settings/tokens', ...alert, show: press('Revoke bootstrap edge-*') },
  { what: 'delete', path: '/settings/groups', ...alert, show: press('Delete web-team') },
  { what: 'remove', path: '/settings/groups?group=web-team', ...alert, show: press(/^Remove /) },
  { what: 'token', path: '/settings/service-accounts', ...dialog, show: press('Create a token for ci') },
  { what: 'delete', path: '/settings/service-accounts', ...alert, show: press('Delete ci') },
  { what: 'add-trust', path: '/settings/service-accounts', ...dialog, show: press('Add a trust') },
  { what: 'delete-trust', path: '/settings/service-accounts', ...alert, show: press('Delete github-fleet') },
  { what: 'urls', path: '/settings/auth', ...dialog, show: press('URLs of okta') },
  { what: 'edit', path: '/settings/auth', ...dialog, show: press('Edit okta') },
  { what: 'delete', path: '/settings/auth', ...alert, show: press('Delete okta') },
  { what: 'edit-sink', path: '/settings/notifications', ...dialog, show: press('Edit console') },
  { what: 'delete-sink', path: '/settings/notifications', ...alert, show: press('Delete console') },
  { what: 'add-router', path: '/settings/notifications', ...dialog, show: press('Add a router') },
  { what: 'edit-router', path: '/settings/notifications', ...dialog, show: press('Edit changes') },
  { what: 'delete-router', path: '/settings/notifications', ...alert, show: press('Delete changes') },
  { what: 'edit', path: '/settings/applications', ...dialog, show: press('Edit tracker') },
  { what: 'delete', path: '/settings/applications', ...alert, show: press('Delete tracker') },
  { what: 'delete', path: '/settings/webhooks', ...alert, show: press('Delete fleet') },
  { what: 'edit-shop', path: '/settings/projects', ...dialog, show: press('Edit shop') },
  { what: 'delete', path: '/settings/projects', ...alert, show: press('Delete shop') },
  { what: 'edit', path: '/settings/contexts', ...dialog, show: press('Edit region-eu') },
  { what: 'delete', path: '/settings/contexts', ...alert, show: press('Delete region-eu') },
  { what: 'edit-windows', path: '/settings/hub', ...dialog, show: press('Edit') },
];

/** Secrets that are shown once. Each leaves what it is of behind. */
export const secrets = [
  { what: 'secret', path: '/settings/tokens', ...alert, show: sent(press('Create a token'), { Name: 'nightly report' }, 'Create') },
  { what: 'secret-bootstrap', path: '/settings/tokens', ...alert, show: sent(press('Create a bootstrap token'), { 'Clusters by name': 'edge-*' }, 'Create') },
  { what: 'secret', path: '/settings/service-accounts', ...alert, show: sent(press('Create a token for ci'), { Name: 'nightly report' }, 'Create') },
  { what: 'secret', path: '/settings/webhooks', ...alert, show: (page) => sent(press('Create a webhook'), { Name: `push-${Date.now()}` }, 'Create')(page) },
];

/** What the upgrade of agents has that upgradeReal began. */
export const upgrading = [
  { what: 'pause', path: '/settings/hub', ...dialog, show: press('Pause') },
  { what: 'abort', path: '/settings/hub', ...alert, show: press('Abort') },
];

/** What the profile broken has. */
export const broken = [
  { what: 'peek', path: '/services?verdict=Failed', role: 'complementary', show: onRow('o') },
  { what: 'roll-back', path: '/services/prod/crash-loop', ...dialog, show: press('Roll back…') },
  { what: 'delete', path: '/clusters/lost/settings', ...alert, show: press(/^Delete lost/) },
  { what: 'delete', path: '/repositories/goes-away', ...alert, show: press('Delete') },
];

/** What an object of a cluster with a tunnel has, after furnishReal. */
export const real = (node) => {
  const at = (rest) => `/clusters/edge-1/k8s/${rest}`;
  return [
    { what: 'restart', path: at('deployments.v1.apps/talker/talker/summary'), ...dialog, show: press('Restart') },
    { what: 'scale', path: at('deployments.v1.apps/talker/talker/summary'), ...dialog, show: press('Scale') },
    { what: 'delete', path: at('deployments.v1.apps/talker/talker/summary'), ...alert, show: press('Delete') },
    { what: 'delete', path: at('pods.v1/talker/toolbox/summary'), ...alert, show: press('Delete') },
    { what: 'delete', path: at('namespaces.v1/-/talker/summary'), ...alert, show: press('Delete') },
    { what: 'delete', path: at(`nodes.v1/-/${node}/summary`), as: at('nodes.v1/-/node/summary'), ...alert, show: press('Delete') },
    { what: 'reveal', path: at('secrets.v1/talker/login/summary'), role: 'button', name: 'Copy username', show: press(/^Reveal username/) },
    { what: 'shell', path: at('pods.v1/talker/toolbox/exec'), role: 'region', name: 'Dock', show: press('Open a shell') },
  ];
};

/** Opens one of them, from a page that `to` opens; returns it. */
export async function shown(page, { path, show, role, name }, to = open) {
  await to(page, path);
  await show(page);
  const overlay = page.getByRole(role, name ? { name } : {}).last();
  await overlay.waitFor();
  return overlay;
}

/** Registers the tests of what opens above a page: axe, nothing that scrolls sideways on a phone, and Escape closes it. */
export function contractOf(test, title, all) {
  test(title, { timeout: 900_000 }, async (t) => {
    const context = await newContext();
    const page = await logIn(context);
    const kinds = new Set();
    for (const one of await all()) {
      const name = `${one.as ?? one.path}#${one.what}`;
      await t.test(name, async () => {
        await page.setViewportSize({ width: 1440, height: 900 });
        const overlay = await shown(page, one, one.loads ? open : follow);
        // The page below has its own test, and axe takes its time: with the page, and in all looks, it looks at one of each kind.
        const looks = !kinds.has(one.role);
        kinds.add(one.role);
        await checkAxe(page, name, { looks, covers: one.covers, part: looks ? undefined : await overlay.elementHandle() });
        await page.setViewportSize({ width: 320, height: 844 });
        // A menu is put in its new place after the page was drawn.
        await fitsAcross(page, `${name} at 320 px`);
        await page.keyboard.press('Escape');
        await overlay.waitFor({ state: 'detached' });
      });
    }
    await context.close();
  });
}
