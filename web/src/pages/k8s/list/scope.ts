import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect } from 'react'
import { type Search, textOf } from '#/app/search'

// The namespace scope is in the URL, where links carry it, and remembered for a
// cluster, so that going to another kind keeps it. "*" is all namespaces.
export const everywhere = '*'

const key = (cluster: string) => `axle.namespace.${cluster}`

export function remembered(cluster: string): string {
  try {
    return localStorage.getItem(key(cluster)) ?? everywhere
  } catch {
    return everywhere
  }
}

function remember(cluster: string, ns: string): void {
  try {
    if (ns === everywhere) localStorage.removeItem(key(cluster))
    else localStorage.setItem(key(cluster), ns)
  } catch {
    // Storage may be full or forbidden; the URL still has it.
  }
}

export interface Scope {
  // Empty for all namespaces.
  namespace: string
  setNamespace: (ns: string) => void
}

export function useScope(cluster: string): Scope {
  const search = useSearch({ strict: false }) as Search
  const navigate = useNavigate()
  const asked = textOf(search['ns'])
  const now = asked || remembered(cluster)
  const set = (ns: string, replace: boolean) => void navigate({ to: '.', search: (s: Search) => ({ ...s, ns }), replace } as never)
  useEffect(() => {
    if (!cluster) return
    if (asked) remember(cluster, asked)
    else if (now !== everywhere) set(now, true)
    // oxlint-disable-next-line react/exhaustive-deps -- set is new each time
  }, [cluster, asked, now])
  return { namespace: now === everywhere ? '' : now, setNamespace: (ns) => set(ns || everywhere, false) }
}

// useParameter is one parameter of the URL as text.
export function useParameter(name: string): [string, (value: string) => void] {
  const search = useSearch({ strict: false }) as Search
  const navigate = useNavigate()
  return [textOf(search[name]), (value) => void navigate({ to: '.', search: (s: Search) => ({ ...s, [name]: value || undefined }), replace: true } as never)]
}

// useChange sets several parameters of the URL at once; empty ones leave it. With steps, a step back
// undoes it.
export function useChange(steps = false): (some: Record<string, string>) => void {
  const navigate = useNavigate()
  return (some) => void navigate({ to: '.', search: (s: Search) => ({ ...s, ...Object.fromEntries(Object.entries(some).map(([k, v]) => [k, v || undefined])) }), replace: !steps, resetScroll: false } as never)
}
