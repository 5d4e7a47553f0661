import { useSyncExternalStore } from 'react'

// What one browser remembers of its person. Nothing of it is secret.
export interface Preferences {
  theme: 'system' | 'dark' | 'light'
  density: 'default' | 'compact'
  // Single-letter keys can be turned off (WCAG 2.1.4).
  letters: boolean
  sidebar: 'open' | 'narrow'
  // Clusters looked at last, the newest first.
  recent: string[]
  // Saved views by the id of their person; app/views reads them, and trusts nothing of it.
  views: unknown
}

const key = 'axle.preferences'
const initial: Preferences = { theme: 'system', density: 'default', letters: true, sidebar: 'open', recent: [], views: {} }
const listeners = new Set<() => void>()
let current = read()

function read(): Preferences {
  try {
    return { ...initial, ...(JSON.parse(localStorage.getItem(key) ?? '{}') as Partial<Preferences>) }
  } catch {
    return initial
  }
}

export function preferences(): Preferences {
  return current
}

// setPreferences returns whether the browser stored them. Storage may be full or
// forbidden; the choice then lasts as long as the page.
export function setPreferences(change: Partial<Preferences>): boolean {
  let kept = true
  current = { ...current, ...change }
  try {
    localStorage.setItem(key, JSON.stringify(current))
  } catch {
    kept = false
  }
  show()
  for (const listener of listeners) listener()
  return kept
}

// show puts theme and density on the document, where tokens.css reads them.
export function show(): void {
  const root = document.documentElement
  if (current.theme === 'system') delete root.dataset['theme']
  else root.dataset['theme'] = current.theme
  root.dataset['density'] = current.density
}

export function visited(cluster: string): void {
  if (current.recent[0] !== cluster) setPreferences({ recent: [cluster, ...current.recent.filter((c) => c !== cluster)].slice(0, 10) })
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function usePreferences(): Preferences {
  return useSyncExternalStore(subscribe, preferences)
}

if (typeof window !== 'undefined') {
  window.addEventListener('storage', (event) => {
    if (event.key !== key) return
    current = read()
    show()
    for (const listener of listeners) listener()
  })
}
