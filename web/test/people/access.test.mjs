// Who may do what: for each person and action, what the console offers, and what the hub
// answers to the same call with that person's session.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { follow, open } from '../lib/pages.mjs';
import { closeBrowser, eventually, logIn, newContext, stack } from '../lib/stack.mjs';

const everybody = { viewer: stack.people.viewer, writer: stack.people.writer, admin: stack.email, stranger: stack.people.stranger };
const pages = {};
before(async () => {
  for (const [who, email] of Object.entries(everybody)) pages[who] = await logIn(await newContext(), email);
});
after(closeBrowser);

// A call of the API as the page makes it: with the session's cookie and its token.
const call = (page, method, body) =>
  page.evaluate(
    async ([method, body]) => {
      const { csrf } = await (await fetch('/login/session')).json();
      const response = await fetch(`/axle.hub.v1.${method}`, { method: 'POST', headers: { 'content-type': 'application/json', 'connect-protocol-version': '1', 'Axle-Csrf': csrf }, body: JSON.stringify(body) });
      return { status: response.status, text: await response.text() };
    },
    [method, body],
  );

const button = (name) => (page) => page.getByRole('main').getByRole('button', { name, exact: typeof name === 'string' });
const link = (name) => (page) => page.getByRole('main').getByRole('link', { name });
const ref = { cluster: 'prod-eu', name: 'web' };
// Its state changes, so its page is not looked at.
const other = { cluster: 'prod-eu', name: 'cache' };

// Who may: + is done or refused for another reason than rights, - is refused with 403, and
// 4 with 404, because what one may not see is not there. In the order viewer, writer,
// admin, stranger. `shows` is the control on `path`; those who may not, do not have it, or
// have it disabled, and read why.
const why = /You may not|For administrators|lacks|is no administrator|may not/;
const actions = [
  { does: 'read a service', may: '+++4', method: 'Services/Get', body: { ref } },
  { does: 'read a cluster', may: '+++4', method: 'Clusters/Get', body: { name: 'prod-eu' } },
  { does: 'sync a service', may: '-++4', method: 'Services/Sync', body: { ref }, path: '/services/prod-eu/web', shows: button('Sync') },
  { does: 'pause a service', may: '-++4', method: 'Services/Pause', body: { ref: other, reason: 'a test' }, path: '/services/prod-eu/web', shows: button('Pause…') },
  { does: 'resume a service', may: '-++4', method: 'Services/Resume', body: { ref: other } },
  { does: 'roll a service back', may: '-++4', method: 'Services/Rollback', body: { ref, revision: 99 }, path: '/services/prod-eu/web', shows: button('Roll back…') },
  { does: 'compare a service with its cluster', may: '-++4', method: 'Services/Diff', body: { ref }, path: '/services/prod-eu/web?tab=diff', shows: button(/^Compare/) },
  { does: 'delete a service', may: '-++4', method: 'Services/Delete', body: { ref } },
  { does: 'sync many services', may: '-++4', method: 'Operations/Start', body: async () => ({ action: 'sync', serviceIds: [await idOf('prod-eu', 'web')], dryRun: true }) },
  { does: 'add a cluster', may: '-++4', method: 'Clusters/Create', body: (who) => ({ name: `of-${who}`, project: 'default' }), path: '/clusters', shows: link('Add a cluster') },
  { does: 'change a cluster', may: '-++4', method: 'Clusters/Update', body: { name: 'prod-eu', metadata: '{}', setMetadata: true }, path: '/clusters/prod-eu/settings', shows: button('Save') },
  { does: 'delete a cluster', may: '-++4', method: 'Clusters/Delete', body: { name: 'prod-eu' }, path: '/clusters/prod-eu/settings', shows: button(/^Delete prod-eu/) },
  { does: 'approve a cluster', may: '--+-', method: 'Clusters/Approve', body: { name: 'prod-eu' } },
  { does: 'add a repository', may: '--+4', method: 'Repositories/Create', body: (who) => ({ name: `of-${who}`, project: 'default', url: 'http://127.0.0.1:9/x.git' }), path: '/repositories', shows: button('Add a repository') },
  { does: 'fetch a repository', may: '--+4', method: 'Repositories/Refresh', body: { name: 'fleet' }, path: '/repositories/fleet', shows: button('Fetch now') },
  { does: 'create a user', may: '--+-', method: 'Users/Create', body: (who) => ({ email: `of-${who}@example.test` }), path: '/settings/users', shows: button('Create a user') },
  { does: 'see the users', may: '--+-', method: 'Users/List', body: {} },
  { does: 'create a project', may: '--+-', method: 'Projects/Create', body: (who) => ({ name: `of-${who}` }), path: '/settings/projects', shows: button('Create a project') },
  { does: 'give a role', may: '--+-', method: 'Bindings/Create', body: { subjectKind: 'user', subject: stack.people.viewer, actions: ['read'], place: { project: 'default' } }, path: '/settings/roles', shows: button('Give a role') },
  { does: 'create a webhook', may: '--+4', method: 'Webhooks/Create', body: (who) => ({ name: `of-${who}`, provider: 'github', repository: 'fleet' }), path: '/settings/webhooks', shows: button('Create a webhook') },
  { does: 'add a sink', may: '-++4', method: 'NotificationSinks/Apply', body: (who) => ({ name: `of-${who}`, settings: { type: 'PLURAL', project: 'default', users: [stack.people.viewer] }, dryRun: true }), path: '/settings/notifications', shows: button('Add a sink') },
  { does: 'create a context', may: '-++4', method: 'Contexts/Create', body: (who) => ({ context: { name: `of-${who}`, project: 'default' } }), path: '/settings/contexts', shows: button('Create a context') },
  { does: 'read the audit log', may: '--+-', method: 'Audit/List', body: {}, path: '/audit', shows: button(/^Export/) },
  { does: 'see login providers', may: '--+-', method: 'Providers/List', body: {} },
];

async function idOf(cluster, name) {
  const { text } = await call(pages.admin, 'Services/Get', { ref: { cluster, name } });
  return JSON.parse(text).id;
}

test('the hub refuses what the console does not offer, and the other way round', { timeout: 600_000 }, async (t) => {
  for (const action of actions) {
    const { may } = action;
    await t.test(action.does, async (t) => {
      // Those who are refused ask first.
      const order = Object.keys(everybody).toSorted((a, b) => '-4+'.indexOf(may[Object.keys(everybody).indexOf(a)]) - '-4+'.indexOf(may[Object.keys(everybody).indexOf(b)]));
      for (const who of order) {
        await t.test(who, async () => {
          const page = pages[who];
          const want = may[Object.keys(everybody).indexOf(who)];
          if (action.path && action.shows) {
            await follow(page, action.path);
            const control = action.shows(page);
            if (want === '+') await eventually(async () => assert.ok(await control.first().isEnabled(), 'not offered'));
            else {
              await eventually(async () => assert.match(await page.getByRole('main').innerText(), want === '4' ? /not found|does not exist|no such|may not|Nothing is shared with you/i : why, 'no reason is given'));
              for (const one of await control.all()) assert.ok(await one.isDisabled(), 'offered to somebody who may not');
            }
          }
          // Deleting is asked of those who are refused alone: the stack is used again.
          if (want === '+' && action.does.startsWith('delete')) return;
          const body = typeof action.body === 'function' ? await action.body(who) : action.body;
          const { status, text } = await call(page, action.method, body);
          const refused = status === 403 || status === 401 || (status === 404 && want === '4');
          assert.equal(refused, want !== '+', `${action.method} answers ${status}: ${text.slice(0, 200)}`);
          if (want === '-') assert.equal(status, 403, text.slice(0, 200));
        });
      }
    });
  }
});

test('a call without the session\'s token is refused', async () => {
  const answer = await pages.admin.evaluate(async () => (await fetch('/axle.hub.v1.Services/List', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' })).status);
  assert.ok([401, 403].includes(answer), `it answers ${answer}`);
});

test('who has no role reads whom to ask, and nothing looks broken', async () => {
  const page = pages.stranger;
  for (const path of ['/', '/clusters']) {
    await open(page, path);
    await page.getByText('Nothing is shared with you yet').waitFor();
    await page.getByText(`axle auth bind --user ${stack.people.stranger} --action read --project NAME`).waitFor();
    assert.equal(await page.getByRole('alert').count(), 0, `${path}: an error`);
    assert.equal(await page.getByRole('main').getByRole('link', { name: /add/i }).count(), 0, `${path}: a way to add a cluster`);
    await page.locator('header').getByText('Paused').waitFor();
    assert.equal(await page.getByText('Reconnecting').count(), 0, `${path}: the hub is heard`);
  }
  await open(page, '/services');
  await page.getByText('No services that you may see').waitFor();
  assert.equal(await page.getByRole('alert').count(), 0);
});
