// What can be done to an object of a cluster asks first, and says what it does.
import { after, before, test } from 'node:test';
import { furnishReal } from '../lib/furnish.mjs';
import { contractOf, real } from '../lib/overlays.mjs';
import { closeBrowser } from '../lib/stack.mjs';

let node;
before(async () => ({ node } = await furnishReal()));
after(closeBrowser);
contractOf(test, 'overlays', () => real(node).filter((one) => /dialog/.test(one.role)));
