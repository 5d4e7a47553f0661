import { type ComponentType, useSyncExternalStore } from 'react'

// What stays at the bottom while a person goes from page to page, such as a
// terminal. Who opens an entry brings what is in it.
export interface DockEntry {
  id: string
  title: string
  Content: ComponentType
  // Ends it; the entry is then gone.
  onClose: () => void
}

interface Dock {
  entries: DockEntry[]
  current: string
  open: boolean
}

let dock: Dock = { entries: [], current: '', open: false }
const listeners = new Set<() => void>()

function set(next: Partial<Dock>): void {
  dock = { ...dock, ...next }
  for (const listener of listeners) listener()
}

// openInDock shows an entry; one with the same id is only brought to the front.
export function openInDock(entry: DockEntry): void {
  const known = dock.entries.some((e) => e.id === entry.id)
  set({ entries: known ? dock.entries : [...dock.entries, entry], current: entry.id, open: true })
}

export function closeInDock(id: string): void {
  dock.entries.find((e) => e.id === id)?.onClose()
  const entries = dock.entries.filter((e) => e.id !== id)
  set({ entries, current: dock.current === id ? (entries.at(-1)?.id ?? '') : dock.current, open: dock.open && entries.length > 0 })
}

export function showInDock(id: string): void {
  set({ current: id, open: true })
}

export function foldDock(open: boolean): void {
  set({ open })
}

export function useDock(): Dock {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => dock,
  )
}
