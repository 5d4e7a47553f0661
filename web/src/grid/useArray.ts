import { useMemo } from 'react'
import type { Source } from './source'

// useArray is rows that are in memory as a source.
export function useArray<Row>(rows: Row[], state: { loading?: boolean; error?: unknown; retry?: () => void } = {}): Source<Row> {
  const { loading = false, error, retry } = state
  return useMemo(
    () => ({
      total: rows.length,
      rowAt: (i) => rows[i],
      show: () => {},
      loading,
      error,
      retry: retry ?? (() => {}),
      changed: 0,
      refresh: () => {},
      matches: () => true,
      stale: false,
    }),
    [rows, loading, error, retry],
  )
}
