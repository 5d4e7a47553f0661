// What opens above the pages of what failed.
import { after, test } from 'node:test';
import { broken, contractOf } from '../lib/overlays.mjs';
import { closeBrowser } from '../lib/stack.mjs';

after(closeBrowser);
contractOf(test, 'overlays', () => broken);
