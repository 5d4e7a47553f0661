// The gallery of components, before the hub of the stack.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { stack } from './stack.mjs';

/** The console as it ships, but with the gallery. */
export async function gallery() {
  const outDir = await mkdtemp(join(tmpdir(), 'axle-gallery-'));
  process.env.AXLE_HUB = stack.url;
  const { build, preview } = await import('vite');
  const config = { root: resolve(import.meta.dirname, '../..'), mode: 'gallery', logLevel: 'warn', build: { outDir, emptyOutDir: true } };
  await build(config);
  const server = await preview({ ...config, preview: { host: '127.0.0.1', port: 0, strictPort: false } });
  return {
    url: server.resolvedUrls.local[0],
    close: async () => {
      await server.close();
      await rm(outDir, { recursive: true });
    },
  };
}
