// Takes the two pictures of the README into OUT; `make screenshots` runs it on the
// profile broken.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { settled } from './lib/pages.mjs';
import { closeBrowser, logIn, newContext } from './lib/stack.mjs';

const out = process.env.OUT;
if (!out) throw new Error('OUT is not set: the folder for the pictures');
mkdirSync(out, { recursive: true });

for (const [file, colorScheme, path] of [
  ['console-dark.png', 'dark', '/'],
  ['console-light.png', 'light', '/services/prod/crash-loop'],
]) {
  const context = await newContext({ colorScheme, viewport: { width: 1440, height: 820 } });
  const page = await logIn(context, undefined, path);
  await settled(page);
  await page.evaluate(() => document.fonts.ready);
  await page.screenshot({ path: join(out, file) });
  await context.close();
}
await closeBrowser();
