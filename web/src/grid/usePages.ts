import { type QueryKey, useQueries, useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import type { Facet } from '#/api/gen/hub/v1/fleet_pb'
import type { Source } from './source'
import { type Range, pageSize, pagesOf } from './window'
import { useLiveRows } from '#/live/useLive'
import type { ClusterRow, ServiceRow } from '#/api/gen/hub/v1/fleet_pb'

interface Answer<Row> {
  rows: Row[]
  total: bigint
  unfiltered: bigint
  facets: Facet[]
}

interface Options<Row> {
  // Identifies filter and sort.
  queryKey: QueryKey
  read: (offset: number, limit: number, facets: boolean, signal: AbortSignal) => Promise<Answer<Row>>
  kind: 'services' | 'clusters'
  idOf: (row: Row) => string
  matches: (row: Row) => boolean
  // What decides the order: a row whose text differs would be elsewhere.
  orderOf: (row: Row) => string
}

export interface Pages<Row> extends Source<Row> {
  unfiltered: number
  facets: Facet[]
  // A row by id, as far as it is read.
  find: (id: string) => Row | undefined
}

const idleRefresh = 60_000
const settle = 60
const recount = 5_000

interface Shown<Row> {
  total: number
  unfiltered: number
  facets: Facet[]
  pages: ReadonlyMap<number, Row[]>
}

const nothing = { total: 0, unfiltered: 0, facets: [], pages: new Map<number, never[]>() }

// usePages reads a list of the hub as windows of 200 rows, and keeps the rows on
// the screen live without moving them.
export function usePages<Row extends ServiceRow | ClusterRow>({ queryKey, read, kind, idOf, matches, orderOf }: Options<Row>): Pages<Row> {
  const client = useQueryClient()
  const [range, setRange] = useState<Range>({ from: 0, to: 1 })
  const key = JSON.stringify(queryKey)
  const numbers = useMemo(() => [...new Set([0, ...pagesOf(range)])], [range])
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)

  const queries = useQueries({
    queries: numbers.map((n) => ({
      queryKey: [...queryKey, 'page', n],
      queryFn: ({ signal }: { signal: AbortSignal }) => read(n * pageSize, pageSize, n === 0, signal),
      staleTime: 15_000,
      structuralSharing: false as const,
    })),
  })
  const first = queries[0]
  const answers = queries.map((q) => q.data)
  const fresh: Shown<Row> | undefined = useMemo(() => {
    const head = answers[0]
    if (!head) return undefined
    const pages = new Map<number, Row[]>()
    numbers.forEach((n, i) => answers[i] && pages.set(n, answers[i].rows))
    return { total: Number(head.total), unfiltered: Number(head.unfiltered), facets: head.facets, pages }
    // oxlint-disable-next-line react/exhaustive-deps -- answers is a new array each time, with the same answers
  }, [numbers, ...answers])
  const last = useRef<Shown<Row>>(nothing)
  useEffect(() => {
    if (fresh) last.current = fresh
  }, [fresh])
  const shown = fresh ?? last.current

  const visible: Row[] = []
  for (let i = range.from; i < range.to; i++) {
    const row = shown.pages.get(Math.floor(i / pageSize))?.[i % pageSize]
    if (row) visible.push(row)
  }
  const ids = visible.map(idOf)
  const counts = useQuery({ queryKey: [...queryKey, 'counts'], queryFn: ({ signal }) => read(0, 1, true, signal), enabled: false, structuralSharing: false })
  const refetchCounts = counts.refetch
  const lastCount = useRef(0)
  const onHint = () => {
    if (Date.now() - lastCount.current < recount) return
    lastCount.current = Date.now()
    void refetchCounts()
  }
  const [live, resetLive] = useLiveRows({ [kind]: ids, hint: kind, onHint, onRelist: () => refresh() })

  const refresh = useCallback(() => {
    resetLive()
    client.removeQueries({ queryKey: [...queryKey, 'counts'] })
    void client.invalidateQueries({ queryKey: [...queryKey, 'page'] })
    // oxlint-disable-next-line react/exhaustive-deps -- key is what queryKey says
  }, [client, key])

  const patched = live[kind] as ReadonlyMap<string, Row>
  const rowAt = (i: number): Row | undefined => {
    const row = shown.pages.get(Math.floor(i / pageSize))?.[i % pageSize]
    return row && (patched.get(idOf(row)) ?? row)
  }
  const fits = (row: Row) => !live.gone.has(idOf(row)) && matches(row)
  const before = useMemo(() => {
    const all = new Map<string, Row>()
    for (const rows of shown.pages.values()) for (const row of rows) all.set(idOf(row), row)
    return all
  }, [shown.pages, idOf])
  let changed = 0
  for (const [id, row] of patched) {
    const was = before.get(id)
    if (was && (!fits(row) || orderOf(was) !== orderOf(row))) changed++
  }
  const totalNow = counts.data ? Number(counts.data.total) : shown.total
  changed = Math.max(changed, fresh ? Math.abs(totalNow - shown.total) : 0)

  useIdle(changed > 0, refresh)

  const show = useCallback((next: Range) => {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => setRange((r) => (r.from === next.from && r.to === next.to ? r : next)), settle)
  }, [])
  useEffect(() => () => clearTimeout(timer.current), [])

  return {
    total: shown.total,
    unfiltered: shown.unfiltered,
    facets: counts.data?.facets ?? shown.facets,
    rowAt,
    find: (id) => patched.get(id) ?? before.get(id),
    show,
    loading: !fresh && shown === nothing && !first?.error,
    error: queries.find((q) => q.error && !q.data)?.error ?? first?.error,
    retry: () => queries.forEach((q) => q.error && void q.refetch()),
    changed,
    refresh,
    matches: fits,
    stale: !fresh || (first?.isError ?? false),
  }
}

// useIdle runs something once nobody used pointer or keyboard for a minute.
function useIdle(wanted: boolean, run: () => void): void {
  const latest = useRef(run)
  useEffect(() => {
    latest.current = run
  })
  useEffect(() => {
    if (!wanted) return undefined
    let timer = setTimeout(() => latest.current(), idleRefresh)
    const busy = () => {
      clearTimeout(timer)
      timer = setTimeout(() => latest.current(), idleRefresh)
    }
    window.addEventListener('pointermove', busy)
    window.addEventListener('keydown', busy)
    return () => {
      clearTimeout(timer)
      window.removeEventListener('pointermove', busy)
      window.removeEventListener('keydown', busy)
    }
  }, [wanted])
}
