// Every component in every look: pages are made of them (src/gallery/gallery.test.ts), and
// are looked at in the dark only.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, test } from 'node:test';
import { checkAxe, listen, sideways } from '../lib/pages.mjs';
import { closeBrowser, logIn, newContext, stack } from '../lib/stack.mjs';

after(closeBrowser);

/** The console as it ships, but with the gallery, before the hub of the stack. */
async function gallery() {
  const outDir = await mkdtemp(join(tmpdir(), 'axle-gallery-'));
  after(() => rm(outDir, { recursive: true }));
  process.env.AXLE_HUB = stack.url;
  const { build, preview } = await import('vite');
  const config = { root: resolve(import.meta.dirname, '../..'), mode: 'gallery', logLevel: 'warn', build: { outDir, emptyOutDir: true } };
  await build(config);
  const server = await preview({ ...config, preview: { host: '127.0.0.1', port: 0, strictPort: false } });
  after(() => server.close());
  return server.resolvedUrls.local[0];
}

test('the gallery keeps the contract in every look', { timeout: 600_000 }, async () => {
  const url = await gallery();
  const context = await newContext();
  const session = await logIn(context);
  await session.close();
  const page = listen(await context.newPage());
  await page.setViewportSize({ width: 1440, height: 4000 }); // all of it
  await page.goto(`${url}__gallery`);
  await page.getByRole('heading', { level: 1, name: 'Gallery' }).waitFor();
  await page.getByRole('grid', { name: 'Many rows' }).getByText('row 1', { exact: true }).waitFor();
  await checkAxe(page, 'the gallery', { looks: true });
  for (const width of [320, 1024]) {
    await page.setViewportSize({ width, height: 844 });
    assert.deepEqual(await sideways(page), [], `the gallery scrolls sideways at ${width} px`);
  }
  assert.deepEqual(page.complaints, []);
  await context.close();
});
