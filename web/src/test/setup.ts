import { cleanup } from '@testing-library/react'
import { afterEach } from 'vitest'

afterEach(cleanup)

// jsdom has no layout and none of these.
globalThis.ResizeObserver ??= class {
  observe() {}
  unobserve() {}
  disconnect() {}
}
globalThis.matchMedia ??= ((query: string) => ({ matches: false, media: query, addEventListener() {}, removeEventListener() {} })) as unknown as typeof matchMedia
// What react-aria asks for selectors of ids.
globalThis.CSS ??= { escape: (text: string) => text.replaceAll(/[^\w-]/g, (c) => `\\${c}`) } as typeof CSS
CSS.escape ??= (text: string) => text.replaceAll(/[^\w-]/g, (c) => `\\${c}`)
