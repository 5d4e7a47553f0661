// What opens above a page keeps the contract too, and so does a page that may not be read.
import { after, test } from 'node:test';
import { contractOf, small } from '../lib/overlays.mjs';
import { contract } from '../lib/pages.mjs';
import { closeBrowser, stack } from '../lib/stack.mjs';

after(closeBrowser);
contractOf(test, 'overlays', () => small);

const may = /status of (403|404|503)/;
contract(test, ['/', '/clusters', '/services', '/repositories', '/audit', '/settings/users', '/settings/roles', '/services/prod-eu/web', '/clusters/prod-eu/settings'], { as: stack.people.viewer, loads: true, may });
contract(test, ['/', '/clusters', '/services', '/repositories', '/audit', '/settings/users', '/services/prod-eu/web', '/clusters/prod-eu'], { as: stack.people.stranger, loads: true, may });
