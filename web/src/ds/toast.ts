import { useSyncExternalStore } from 'react'

// Short news about something the person just did. Errors belong to where they
// happened and are no toasts.
export interface Toast {
  id: number
  text: string
  href?: string | undefined
  link?: string | undefined
}

let toasts: Toast[] = []
let last = 0
const listeners = new Set<() => void>()

function set(next: Toast[]): void {
  toasts = next
  for (const listener of listeners) listener()
}

export function toast(text: string, link?: { href: string; label: string }): void {
  const id = ++last
  set([...toasts.slice(-3), { id, text, href: link?.href, link: link?.label }])
  setTimeout(() => dismiss(id), 8_000)
}

export function dismiss(id: number): void {
  set(toasts.filter((t) => t.id !== id))
}

export function useToasts(): Toast[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => toasts,
  )
}
