import { expect, test } from 'vitest'
import { linesAround, linkOf, rangeOf, timesAround } from './around'
import { LogBuffer } from './buffer'
import { type Line, levels } from './line'

const line = (id: number, source: number, time = `2026-03-29T00:59:${String(id % 60).padStart(2, '0')}.123456789Z`): Line => ({ id, time, text: `line ${id}`, level: 'other', source })

test('a moment is looked at with what came before it, whatever its offset', () => {
  expect(timesAround('2026-10-25T02:30:00+02:00')).toBe('from=2026-10-25T00:20:00.000Z&to=2026-10-25T00:32:00.000Z')
  expect(timesAround('')).toBe('')
})

test('a range is microseconds, and both ends are in it', () => {
  expect(rangeOf('2026-11-29T20:00:00.001Z', '2026-11-29T20:00:00.002Z')).toEqual({ since: 1_795_982_400_001_000n, until: 1_795_982_400_002_999n })
  expect(rangeOf('yesterday', '2026-11-29T20:00:00Z')).toBeUndefined()
})

test('what stands around a line is of its own source', () => {
  const all = Array.from({ length: 40 }, (_, i) => line(i, i % 2))
  expect(linesAround(all, all[20]!, 2).map((l) => l.id)).toEqual([16, 18, 20, 22, 24])
  expect(linesAround(all, all[0]!, 2).map((l) => l.id)).toEqual([0, 2, 4])
  expect(linesAround(all, line(99, 0), 2)).toEqual([])
})

test('a link has the first and the last line', () => {
  expect(linkOf([line(1, 0, ''), line(2, 0), line(3, 0)])).toEqual({ from: '2026-03-29T00:59:02.123Z', to: '2026-03-29T00:59:03.124Z' })
  expect(linkOf([])).toBeUndefined()
})

test('lines that the hub merged are added in their order', () => {
  const buffer = new LogBuffer()
  buffer.setFilter({ match: undefined, not: undefined, levels: new Set(levels) })
  buffer.add([line(0, 0), line(0, 1)])
  buffer.add([])
  buffer.add([line(0, 0, '2026-03-29T01:00:00.000000000Z')])
  expect(buffer.visible().map((l) => [l.id, l.source])).toEqual([[0, 0], [1, 1], [2, 0]])
})
