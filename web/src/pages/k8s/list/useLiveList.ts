import { useCallback, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import type { Place } from '../kube/calls'
import { formatGVR } from '../kube/gvr'
import { compareCells, type TableRow } from '../kube/table'
import { LiveList, type ListState, type Selectors } from './LiveList'
import type { Source } from '#/grid/source'

// Lists looked at last, so that going back shows them at once.
const recent = new Map<string, LiveList>()
const kept = 8

function listFor(place: Place, selectors: Selectors): LiveList {
  const key = JSON.stringify([place.cluster, formatGVR(place.gvr), place.namespace ?? '', selectors])
  const list = recent.get(key) ?? new LiveList(place, selectors)
  recent.delete(key)
  recent.set(key, list)
  for (const old of [...recent.keys()].slice(0, -kept)) recent.delete(old)
  return list
}

export function useLiveList(place: Place, selectors: Selectors = {}): [ListState, LiveList] {
  const { cluster, gvr, namespace } = place
  const { labelSelector = '', fieldSelector = '' } = selectors
  const gvrText = formatGVR(gvr)
  const list = useMemo(
    () => listFor(place, { labelSelector, fieldSelector }),
    // oxlint-disable-next-line react/exhaustive-deps -- the parts of place are named one by one
    [cluster, gvrText, namespace, labelSelector, fieldSelector],
  )
  return [useSyncExternalStore(list.subscribe, list.snapshot), list]
}

export interface Sort {
  // A column's name, "-" before it descends; empty is the server's order.
  by: string
  of: (row: TableRow, column: string) => unknown
}

export function sortRows(rows: TableRow[], { by, of }: Sort): TableRow[] {
  if (!by) return rows
  const column = by.replace(/^-/, '')
  const way = by.startsWith('-') ? -1 : 1
  return rows.toSorted((a, b) => way * compareCells(of(a, column), of(b, column)))
}

// useOrder freezes an order of ids until it is made anew: rows never jump.
export function useOrder<Row extends { id: string }>(rows: Row[], make: (rows: Row[]) => Row[], key: string): [Row[], () => void] {
  const [round, setRound] = useState(0)
  const order = useRef<{ key: string; ids: Map<string, number> }>({ key: '', ids: new Map() })
  const now = `${key} ${round}`
  const sorted = useMemo(() => {
    if (order.current.key !== now || order.current.ids.size === 0) {
      const made = make(rows)
      order.current = { key: now, ids: new Map(made.map((r, i) => [r.id, i])) }
      return made
    }
    const { ids } = order.current
    for (const r of rows) if (!ids.has(r.id)) ids.set(r.id, ids.size)
    return rows.toSorted((a, b) => (ids.get(a.id) ?? 0) - (ids.get(b.id) ?? 0))
    // oxlint-disable-next-line react/exhaustive-deps -- make is what key says
  }, [rows, now])
  return [sorted, useCallback(() => setRound((n) => n + 1), [])]
}

export function sourceOf<Row>(rows: Row[], state: Omit<Source<Row>, 'total' | 'rowAt' | 'show'>): Source<Row> {
  return { ...state, total: rows.length, rowAt: (i) => rows[i], show: () => {} }
}
