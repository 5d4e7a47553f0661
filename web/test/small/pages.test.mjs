// A fleet that is well.
import { after, test } from 'node:test';
import { contract } from '../lib/pages.mjs';
import { always, live, ofCluster, ofService } from '../lib/routes.mjs';
import { closeBrowser } from '../lib/stack.mjs';

after(closeBrowser);
contract(test, [...always, ...ofCluster('prod-eu'), ...live('prod-eu'), ...ofService('prod-eu', 'web'), '/repositories/fleet', '/no/such/page', '/clusters/nowhere'], { forced: true, widths: [320, 390, 1024, 3840] });
