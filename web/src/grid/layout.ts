import type { ReactNode } from 'react'

export interface Column<Row> {
  id: string
  header: string
  cell: (row: Row) => ReactNode
  // At least this wide, in pixels; grow shares what is left.
  min: number
  grow?: number
  // Sorts by this field of the hub when the header is clicked.
  sort?: string
  align?: 'end'
  // The greater, the earlier it goes when the grid is narrow; 0 stays.
  drop?: number
  // Below the cell in high rows, when the column with this id has no room.
  under?: { id: string; cell: (row: Row) => ReactNode }
  // Not shown unless chosen.
  optional?: boolean
}

export const endWidth = 44

// edgeWidth is what is before the columns: checkboxes, for a thumb in high rows.
export function edgeWidth(checks: boolean, rowHeight: number): number {
  return checks ? Math.max(32, rowHeight) : 10
}

// fitting are the columns that there is room for. The ones that go are those
// with the greatest drop, the rightmost first.
export function fitting<Row>(columns: Column<Row>[], width: number, edge: number): Column<Row>[] {
  let shown = columns
  const room = width - edge - endWidth
  while (shown.reduce((n, c) => n + c.min, 0) > room) {
    const most = Math.max(...shown.map((c) => c.drop ?? 0))
    if (most === 0) break
    const gone = shown.findLastIndex((c) => (c.drop ?? 0) === most)
    shown = shown.filter((_, i) => i !== gone)
  }
  return shown
}

export function template<Row>(columns: Column<Row>[], edge: number): string {
  return `${edge}px ${columns.map((c) => (c.grow ? `minmax(${Math.min(c.min, 140)}px, ${c.grow}fr)` : `${c.min}px`)).join(' ')} ${endWidth}px`
}

// chosen are the columns that the person chose, or the usual ones.
export function chosen<Row>(columns: Column<Row>[], ids: string[]): Column<Row>[] {
  return ids.length ? columns.filter((c) => ids.includes(c.id)) : columns.filter((c) => !c.optional)
}

// headerOf is the header of the column that a list is sorted by.
export function headerOf<Row>(columns: Column<Row>[], sort: string): string | undefined {
  return columns.find((c) => c.sort !== undefined && c.sort === sort.replace('-', ''))?.header
}

// nextSort is what a click on a header does: up, down, back to the usual order.
export function nextSort(current: string, field: string): string {
  if (current === field) return `-${field}`
  return current === `-${field}` ? '' : field
}
