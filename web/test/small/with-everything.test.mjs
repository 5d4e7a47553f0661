// The pages and dialogs of what people make: projects, rollouts, operations, providers.
// It is the last file of its profile, because the others expect a fleet that has none of it.
import { after, before, test } from 'node:test';
import { furnishSmall } from '../lib/furnish.mjs';
import { contractOf, furnished, secrets } from '../lib/overlays.mjs';
import { contract } from '../lib/pages.mjs';
import { closeBrowser } from '../lib/stack.mjs';

let ids;
before(async () => (ids = await furnishSmall()));
after(closeBrowser);

contract(test, () => [
  '/',
  ...Object.values(ids).map((id) => `/operations/${id}`),
  '/rollouts',
  '/rollouts?tab=namespaces',
  '/rollouts/log-shipper',
  '/rollouts/reports',
  '/managed-namespaces/monitoring',
  '/activity',
  '/notifications',
  ...['groups?group=web-team', 'service-accounts', 'auth', 'notifications', 'webhooks', 'projects', 'contexts', 'hub', 'tokens'].map((one) => `/settings/${one}`),
]);
contractOf(test, 'overlays of what people make', () => [...furnished(ids.failed), ...secrets]);
