// Each failure that a person can meet, once. No cluster has a tunnel: the browser itself
// says so.
import { after, test } from 'node:test';
import { contract } from '../lib/pages.mjs';
import { always, live, ofCluster, ofService } from '../lib/routes.mjs';
import { closeBrowser } from '../lib/stack.mjs';

const services = ['forbidden', 'prune-held', 'contested', 'drifted', 'crash-loop', 'rolling-out', 'waits-for-database', 'on-hold', 'rolled-back', 'unknown-ref', 'bad-yaml'];

after(closeBrowser);
contract(test, [
  ...always,
  ...['prod', 'lost', 'new-site', 'planned'].flatMap((name) => [...ofCluster(name), ...live(name)]),
  ...services.map((name) => `/services/prod/${name}`),
  ...ofService('lost', 'leaving'),
  ...['goes-away', 'never-answered'].map((name) => `/repositories/${name}`),
], { may: /status of (409|503)/ });
