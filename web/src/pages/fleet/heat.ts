import type { HeatMapCell, HeatMapGroup } from '#/api/gen/hub/v1/fleet_pb'

// So many cells are drawn at most; what is beyond is the best of the fleet and is
// said in words.
export const maxCells = 1_000
// And so many on a page with other things.
export const fewCells = 360

export interface Drawn {
  value: string
  cells: HeatMapCell[]
  // Of the group, also those that are not drawn.
  total: number
  rest: number
}

// draw shares the cells among groups: each gets its worst, none more than fits.
export function draw(groups: readonly HeatMapGroup[], most: number): Drawn[] {
  let left = most
  let groupsLeft = groups.length
  const bySize = groups.map((g, i) => ({ g, i })).toSorted((a, b) => a.g.cells.length - b.g.cells.length)
  const shares: number[] = []
  for (const { g, i } of bySize) {
    const share = Math.min(g.cells.length, Math.max(1, Math.floor(left / groupsLeft)))
    shares[i] = share
    left -= share
    groupsLeft--
  }
  return groups.map((g, i) => {
    const total = g.cells.length + Number(g.leftOut)
    const cells = g.cells.slice(0, shares[i])
    return { value: g.value, cells, total, rest: total - cells.length }
  })
}

export function say(cell: HeatMapCell): string {
  if (cell.services === 0) return 'no services'
  return cell.failed ? `${cell.failed} of ${cell.services} services failed` : cell.services === 1 ? '1 service' : `${cell.services} services`
}
