import type { Range } from './window'

// Source is where a grid's rows come from.
export interface Source<Row> {
  total: number
  // Undefined while it is being read.
  rowAt: (index: number) => Row | undefined
  // The rows that are on the screen.
  show: (range: Range) => void
  loading: boolean
  error: unknown
  retry: () => void
  // How many rows changed so that the order may be another; refresh sorts anew.
  changed: number
  refresh: () => void
  // Whether a row still matches the filter.
  matches: (row: Row) => boolean
  // The rows are older than the filter or the hub.
  stale: boolean
}
