// Runs files of tests one after the other in this process and one Chromium: both take 0.7 CPU-s to start. All are imported
// first; each is a suite, so that its hooks run before and after its own tests. Logins begin anew in each file.
//
//     AXLE_STACK=... node test/all.mjs test/small/*.test.mjs
import { resolve } from 'node:path';
import { after, describe } from 'node:test';
import { pathToFileURL } from 'node:url';
import { keepBrowser } from './lib/stack.mjs';

after(keepBrowser());
for (const file of process.argv.slice(2)) {
  describe(file, async () => {
    await import(pathToFileURL(resolve(file)).href);
  });
}
