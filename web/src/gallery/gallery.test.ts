import { readFileSync, readdirSync } from 'node:fs'
import { expect, it } from 'vitest'

// Components that stand for others in the gallery, or that it cannot show, and why.
const elsewhere: Record<string, string> = {
  ActionDialog: 'is a Dialog; web/test/lib/overlays.mjs opens each',
  SecretOnce: 'is a Dialog; web/test/lib/overlays.mjs opens each',
  MenuAt: 'is the menu of MenuButton; web/test/lib/overlays.mjs opens it',
  PopoverAt: 'is an overlay; web/test/lib/overlays.mjs opens it',
  Drop: 'ColumnChoice is one',
  AdminOnly: 'shows Forbidden or its children',
  Toasts: 'is in the frame of every page',
  Editor: 'is drawn by CodeMirror, in the colours of tokens.css',
  TerminalView: 'is drawn by xterm, in the colours of tokens.css',
}

const sources = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((f) => f.endsWith('.tsx') && !f.endsWith('.test.tsx'))
    .map((f) => readFileSync(`${folder}/${f}`, 'utf8'))

// componentsOf are the components of the folders ds, status and grid in the JSX of a source.
function componentsOf(text: string): string[] {
  const imported = [...text.matchAll(/import \{([^}]*)\} from '#\/(?:ds|status|grid)\/[^']+'/g)].flatMap((m) => m[1]!.split(',').map((one) => one.trim().split(' as ')[0]!))
  const loaded = [...text.matchAll(/import\('#\/(?:ds|status|grid)\/[^']+'\)[^;\n]*?\.(\w+)/g)].map((m) => m[1]!)
  return [...imported, ...loaded].filter((name) => new RegExp(`<${name}\\b`).test(text))
}

it('shows every component that a page uses', () => {
  const shown = new Set(sources('src/gallery').flatMap(componentsOf))
  const used = new Set(['src/pages', 'src/app'].flatMap(sources).flatMap(componentsOf))
  expect(used.size).toBeGreaterThan(30)
  expect([...used].filter((name) => !shown.has(name) && !(name in elsewhere)).toSorted()).toEqual([])
  expect(Object.keys(elsewhere).filter((name) => shown.has(name) || !used.has(name)), 'reasons that nothing needs').toEqual([])
})
