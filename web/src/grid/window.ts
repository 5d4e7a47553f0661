// The maths of a windowed list.

export const pageSize = 200
export const overscan = 4

export interface Range {
  // The first row, and the one after the last.
  from: number
  to: number
}

// visibleRows are the rows to draw, with some beyond both edges.
export function visibleRows(scrollTop: number, height: number, rowHeight: number, total: number): Range {
  if (total <= 0 || rowHeight <= 0) return { from: 0, to: 0 }
  const first = Math.floor(Math.max(0, scrollTop) / rowHeight)
  const last = Math.ceil((Math.max(0, scrollTop) + Math.max(0, height)) / rowHeight)
  const to = Math.min(total, last + overscan)
  return { from: Math.min(Math.max(0, first - overscan), Math.max(0, to - 1)), to }
}

// pagesOf are the numbers of the pages that a range needs.
export function pagesOf({ from, to }: Range): number[] {
  if (to <= from) return []
  const first = Math.floor(from / pageSize)
  const last = Math.floor((to - 1) / pageSize)
  return Array.from({ length: last - first + 1 }, (_, i) => first + i)
}

// scrollTo is where to scroll so that a row is visible, or undefined when it is.
export function scrollTo(row: number, scrollTop: number, height: number, rowHeight: number): number | undefined {
  const top = row * rowHeight
  if (top < scrollTop) return top
  if (top + rowHeight > scrollTop + height) return top + rowHeight - height
  return undefined
}
