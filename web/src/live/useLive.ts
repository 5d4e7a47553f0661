import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState, useSyncExternalStore } from 'react'
import type { ClusterRow, ServiceRow } from '#/api/gen/hub/v1/fleet_pb'
import { currentConnection, follow, watchConnection } from './client'
import type { Connection } from './machine'

export type Hint = 'fleet' | 'clusters' | 'services' | 'repositories' | 'rollouts' | 'events' | 'operations' | 'notifications'

// At most one refetch a second for each use.
const calm = 1_000

export function useConnection(): Connection {
  return useSyncExternalStore(watchConnection, currentConnection)
}

// throttle runs at once, and then at most every calm ms.
export function throttle(run: () => void, every = calm): { (): void; cancel(): void } {
  let last = -Infinity
  let timer: ReturnType<typeof setTimeout> | undefined
  const call = () => {
    if (timer) return
    const wait = last + every - Date.now()
    const go = () => {
      timer = undefined
      last = Date.now()
      run()
    }
    if (wait <= 0) go()
    else timer = setTimeout(go, wait)
  }
  call.cancel = () => clearTimeout(timer)
  return call
}

// useHint reads queries again when something of that kind has changed.
export function useHint(hints: Hint[], ...keys: unknown[][]): void {
  const client = useQueryClient()
  const shape = JSON.stringify([hints, keys], (_, v: unknown) => (typeof v === 'bigint' ? `${v}n` : v))
  const latest = useRef(keys)
  useEffect(() => {
    latest.current = keys
  })
  useEffect(() => {
    const again = throttle(() => {
      for (const queryKey of latest.current) void client.invalidateQueries({ queryKey })
    })
    const end = follow({ topics: { services: [], clusters: [], hints }, hints: again, relist: again })
    return () => {
      end()
      again.cancel()
    }
    // oxlint-disable-next-line react/exhaustive-deps -- shape is what hints and keys say
  }, [client, shape])
}

interface Rows {
  services?: string[]
  clusters?: string[]
  // A hint that the whole list may have changed.
  hint?: Hint
  // The list is read again, because what was missed is unknown.
  onRelist?: () => void
  onHint?: () => void
}

export interface LiveRows {
  services: ReadonlyMap<string, ServiceRow>
  clusters: ReadonlyMap<string, ClusterRow>
  gone: ReadonlySet<string>
}

const nothing: LiveRows = { services: new Map(), clusters: new Map(), gone: new Set() }

// useLiveRows returns the newest rows of some ids, as far as they changed since
// reset was last called. Ids are what is visible now.
export function useLiveRows({ services = [], clusters = [], hint, onRelist, onHint }: Rows): [LiveRows, () => void] {
  const [rows, setRows] = useState<LiveRows>(nothing)
  const shape = JSON.stringify([services, clusters, hint])
  const handlers = useRef({ onRelist, onHint })
  useEffect(() => {
    handlers.current = { onRelist, onHint }
  })
  useEffect(() => {
    if (services.length + clusters.length === 0 && !hint) return undefined
    const hinted = throttle(() => handlers.current.onHint?.())
    const end = follow({
      topics: { services, clusters, hints: hint ? [hint] : [] },
      services: (changed) => setRows((r) => ({ ...r, services: patch(r.services, changed, (s) => s.id) })),
      clusters: (changed) => setRows((r) => ({ ...r, clusters: patch(r.clusters, changed, (c) => c.cluster?.id ?? '') })),
      gone: (ids) => setRows((r) => ({ ...r, gone: new Set([...r.gone, ...ids]) })),
      hints: hinted,
      relist: () => handlers.current.onRelist?.(),
    })
    return () => {
      end()
      hinted.cancel()
    }
    // oxlint-disable-next-line react/exhaustive-deps -- shape is what the ids say
  }, [shape])
  return [rows, () => setRows(nothing)]
}

function patch<T>(before: ReadonlyMap<string, T>, rows: T[], id: (row: T) => string): ReadonlyMap<string, T> {
  const after = new Map(before)
  for (const row of rows) after.set(id(row), row)
  return after
}
