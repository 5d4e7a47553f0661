// A fleet that is well. Its clusters have no tunnels, and one is looked for in vain: the
// browser itself says what the hub answered.
import { after, test } from 'node:test';
import { contract } from '../lib/pages.mjs';
import { always, live, ofCluster, ofService } from '../lib/routes.mjs';
import { closeBrowser } from '../lib/stack.mjs';

after(closeBrowser);
contract(test, [...always, ...ofCluster('prod-eu'), ...live('prod-eu'), ...ofService('prod-eu', 'web'), '/repositories/fleet', '/no/such/page', '/clusters/nowhere'], { widths: [320, 390, 1024, 3840], may: /status of (404|503)/ });
