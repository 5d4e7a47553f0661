// The pages and dialogs of what people make: projects, rollouts, operations, providers.
// It is the last file of its profile, because the others expect a fleet that has none of it.
import { after, before, test } from 'node:test';
import { furnishSmall } from '../lib/furnish.mjs';
import { contractOf, furnished, secrets } from '../lib/overlays.mjs';
import { contract } from '../lib/pages.mjs';
import { closeBrowser, logIn, newContext, stack } from '../lib/stack.mjs';

let ids;
before(async () => (ids = await furnishSmall()));
after(closeBrowser);

contract(test, () => [
  '/',
  ...[ids.finished, ids.failed].map((id) => `/operations/${id}`),
  '/rollouts',
  '/rollouts?tab=namespaces',
  '/rollouts/log-shipper',
  '/rollouts/reports',
  '/managed-namespaces/monitoring',
  '/clusters/shop-1',
  '/clusters/shop-1/settings',
  '/clusters/new/template',
  '/activity',
  '/notifications',
  ...['groups?group=web-team', 'service-accounts', 'auth', 'notifications', 'applications', 'webhooks', 'projects', 'contexts', 'hub', 'tokens'].map((one) => `/settings/${one}`),
]);

test('the list of rollouts tells those that wait for a person from those that go on', async () => {
  const context = await newContext();
  const page = await logIn(context, stack.email, '/rollouts');
  const row = (name) => page.getByRole('row').filter({ hasText: name });
  await row('reports').getByText('Stopped', { exact: true }).waitFor();
  await row('log-shipper').getByText('Rolling out', { exact: true }).waitFor();
  await context.close();
});

contractOf(test, 'overlays of what people make', () => [...furnished(ids.failed), ...secrets]);
