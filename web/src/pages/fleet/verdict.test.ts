import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { draw } from './heat'
import { verdictOf } from './verdict'
import { FleetSummarySchema, HeatMapResponseSchema } from '#/api/gen/hub/v1/fleet_pb'

function summary(counts: Record<string, number>) {
  const clusters = Object.values(counts).reduce((a, b) => a + b, 0)
  return create(FleetSummarySchema, { clusters: BigInt(clusters), clustersByVerdict: Object.entries(counts).map(([value, count]) => ({ value, count: BigInt(count) })) })
}

describe('verdictOf', () => {
  it.each([
    [{ Failed: 3, Stale: 4, Healthy: 1_097 }, 'Failed', '7 of 1,104 clusters need you: 3 with failed services, 4 stale'],
    [{ Stale: 1, Healthy: 9 }, 'Stale', '1 of 10 clusters needs you: 1 stale'],
    [{ Pending: 1 }, 'Pending', 'The one cluster needs you: 1 pending'],
    [{ Drifted: 2, Healthy: 1 }, 'Drifted', '2 of 3 clusters need you: 2 drifted'],
    [{ Healthy: 1_104 }, 'Healthy', 'All 1,104 clusters are healthy'],
    [{ Healthy: 2, Progressing: 1 }, 'Progressing', 'All 3 clusters are well, 1 progressing'],
    [{}, 'Pending', 'No clusters yet'],
  ])('%j', (counts, word, sentence) => {
    expect(verdictOf(summary(counts as Record<string, number>))).toEqual({ word, sentence })
  })
})

describe('draw', () => {
  const groups = (...sizes: number[]) => create(HeatMapResponseSchema, { groups: sizes.map((n, g) => ({ value: `g${g}`, cells: Array.from({ length: n }, (_, i) => ({ name: `${g}-${i}` })) })) }).groups

  it('draws all cells of a small fleet', () => {
    expect(draw(groups(3, 5), 1_200).map((g) => [g.cells.length, g.rest])).toEqual([[3, 0], [5, 0]])
  })

  it('never draws more than fits, gives small groups all, and says what is left', () => {
    const drawn = draw(groups(9_000, 10, 990), 1_200)
    expect(drawn.reduce((n, g) => n + g.cells.length, 0)).toBeLessThanOrEqual(1_200)
    expect(drawn[1]?.cells).toHaveLength(10)
    expect(drawn.reduce((n, g) => n + g.cells.length + g.rest, 0)).toBe(10_000)
    expect(drawn[0]?.cells[0]?.name).toBe('0-0')
  })
})
