import { useSyncExternalStore } from 'react'

// Short news about something the person just did. Errors belong to where they
// happened and are no toasts.
export interface Toast {
  id: number
  text: string
  href?: string | undefined
  link?: string | undefined
  // Instead of href: what the button does.
  run?: (() => void) | undefined
}

let toasts: Toast[] = []
let last = 0
const timers = new Map<number, ReturnType<typeof setTimeout>>()
const listeners = new Set<() => void>()

function set(next: Toast[]): void {
  toasts = next
  for (const listener of listeners) listener()
}

export function toast(text: string, link?: { label: string; href?: string; run?: () => void }): void {
  const id = ++last
  set([...toasts.slice(-3), { id, text, href: link?.href, link: link?.label, run: link?.run }])
  release(id)
}

// hold keeps a toast as long as the focus is in it; release lets it go later.
export function hold(id: number): void {
  clearTimeout(timers.get(id))
}

// What can be undone stays until a keyboard has reached it.
export function release(id: number): void {
  hold(id)
  timers.set(id, setTimeout(() => dismiss(id), toasts.find((t) => t.id === id)?.run ? 20_000 : 8_000))
}

export function dismiss(id: number): void {
  hold(id)
  timers.delete(id)
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
