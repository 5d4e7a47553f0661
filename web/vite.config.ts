import react from '@vitejs/plugin-react'
import { defineConfig } from 'vitest/config'

// The hub that `npm run dev` and `npm run preview` talk to.
const hub = process.env['AXLE_HUB'] ?? 'http://127.0.0.1:8080'
const proxy = Object.fromEntries(
  ['/axle.hub.v1.', '/login', '/setup', '/logout', '/device', '/docs/', '/proxy', '/ws/'].map((path) => [path, { target: hub, changeOrigin: true, ws: path === '/ws/' || path === '/proxy', headers: { Origin: new URL(hub).origin } }]),
)

// What a page may load: the hub serves the console with the same policy.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

export default defineConfig({
  plugins: [react()],
  server: { port: 5173, strictPort: true, proxy },
  preview: { port: 4173, strictPort: true, proxy, headers: { 'Content-Security-Policy': policy } },
  worker: { format: 'es' },
  build: {
    target: 'es2022',
    manifest: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rollupOptions: {
      output: {
        entryFileNames: 'assets/[name]-[hash].js',
        chunkFileNames: 'assets/[name]-[hash].js',
        assetFileNames: 'assets/[name]-[hash][extname]',
      },
    },
  },
  css: { modules: { generateScopedName: process.env['NODE_ENV'] === 'production' ? '_[hash:base64:6]' : '[name]_[local]' } },
  test: {
    css: { modules: { classNameStrategy: 'non-scoped' } },
    restoreMocks: true,
    // A document for each file costs six times what its tests do: only components get one,
    // and who asks for it by @vitest-environment.
    projects: [
      { extends: true, test: { name: 'components', environment: 'jsdom', include: ['src/**/*.test.tsx'], setupFiles: ['src/test/setup.ts'] } },
      { extends: true, test: { name: 'logic', environment: 'node', include: ['src/**/*.test.ts'] } },
    ],
  },
})
