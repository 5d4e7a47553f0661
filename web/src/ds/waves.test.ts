import { expect, test } from 'vitest'
import { matrixOf, shownTargets, statesOf } from './waves'

const targets = [
  { cluster: 'b', wave: 1, state: 'Good', message: '' },
  { cluster: 'a', wave: 2, state: 'Waiting', message: '' },
  { cluster: 'c', wave: 1, state: 'Failed', message: 'x' },
  { cluster: 'd', wave: 2, state: 'New', message: '' },
]

test('the matrix has each wave, also the empty ones, and adds up', () => {
  const rows = matrixOf(targets, 3)
  expect(rows.map((r) => [r.wave, r.total])).toEqual([[1, 2], [2, 2], [3, 0]])
  expect(rows[0]!.counts.get('Failed')).toBe(1)
  for (const r of rows) expect([...r.counts.values()].reduce((a, b) => a + b, 0)).toBe(r.total)
})

test('what needs a person comes first, states that nobody knows come last', () => {
  expect(statesOf(targets)).toEqual(['Failed', 'Waiting', 'Good', 'New'])
  expect(shownTargets(targets, { wave: '', state: '' }).map((t) => t.cluster)).toEqual(['c', 'a', 'b', 'd'])
  expect(shownTargets(targets, { wave: '1', state: 'Good' }).map((t) => t.cluster)).toEqual(['b'])
})
