// Every component in every look: pages are made of them (src/gallery/gallery.test.ts), and
// are looked at in the dark only.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { checkAxe, fitsAcross, listen } from '../lib/pages.mjs';
import { gallery } from '../lib/gallery.mjs';
import { closeBrowser, logIn, newContext } from '../lib/stack.mjs';

after(closeBrowser);

test('the gallery keeps the contract in every look', { timeout: 600_000 }, async () => {
  const shown = await gallery();
  after(() => shown.close());
  const context = await newContext();
  const session = await logIn(context);
  await session.close();
  const page = listen(await context.newPage());
  await page.setViewportSize({ width: 1440, height: 4000 }); // all of it
  await page.goto(`${shown.url}__gallery`);
  await page.getByRole('heading', { level: 1, name: 'Gallery' }).waitFor();
  await page.getByRole('grid', { name: 'Many rows' }).getByText('row 1', { exact: true }).waitFor();
  await checkAxe(page, 'the gallery', { looks: true });
  for (const width of [320, 1024]) {
    await page.setViewportSize({ width, height: 844 });
    await fitsAcross(page, `the gallery at ${width} px`);
  }
  assert.deepEqual(page.complaints, []);
  await context.close();
});
