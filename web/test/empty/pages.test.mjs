// A hub that was just set up: every page says what to do first.
import { after, test } from 'node:test';
import { contract } from '../lib/pages.mjs';
import { always } from '../lib/routes.mjs';
import { closeBrowser } from '../lib/stack.mjs';

after(closeBrowser);
contract(test, always);
