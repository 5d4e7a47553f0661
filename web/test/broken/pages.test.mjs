// Each failure that a person can meet, once. No cluster has a tunnel: the browser itself
// says so. Of the settings only the hub's know of clusters; the others are as in small.
import { after, test } from 'node:test';
import { contract } from '../lib/pages.mjs';
import { live, ofCluster, ofFleet, ofService } from '../lib/routes.mjs';
import { closeBrowser } from '../lib/stack.mjs';

const services = ['forbidden', 'prune-held', 'contested', 'drifted', 'crash-loop', 'rolling-out', 'waits-for-database', 'on-hold', 'rolled-back', 'unknown-ref', 'bad-yaml'];

after(closeBrowser);
contract(test, [
  ...ofFleet,
  '/settings/hub',
  ...['prod', 'lost', 'new-site', 'planned'].flatMap((name) => [...ofCluster(name), ...live(name)]),
  ...services.map((name) => `/services/prod/${name}`),
  ...ofService('lost', 'leaving'),
  ...['goes-away', 'never-answered'].map((name) => `/repositories/${name}`),
], { may: /status of (409|503)/ });
