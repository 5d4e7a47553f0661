import { expect, test } from 'vitest'
import { checkTime, filtersOf, sentenceOf, sinceMicros, withFilters } from './filters'
import { parseSearch, stringifySearch } from '#/app/search'

const fields = [
  { id: 'actor', label: 'Actor', words: 'actor is' },
  { id: 'result', label: 'Result', words: 'result is', options: [{ value: 'ok', label: 'Done' }] },
]

test('filters survive the way through the URL, whatever is in them', () => {
  for (const value of ['ann@example.com', 'a b', 'a&b=c', '%41', '"<>', 'ü 日本', '=1+2', 'edge-1/web', '*', '#top', '?', '+']) {
    const url = stringifySearch(withFilters({}, fields, { actor: value }))
    expect(filtersOf(parseSearch(url), fields)).toEqual({ actor: value })
  }
})

test('other parameters stay and the place in the list goes', () => {
  const next = withFilters({ tab: 'events', seq: '12', actor: 'x' }, fields, { result: 'ok' }, ['seq'])
  expect(next).toEqual({ tab: 'events', result: 'ok' })
})

test('an empty filter is none', () => {
  expect(filtersOf({ actor: '  ' }, fields)).toEqual({})
  expect(withFilters({ actor: 'x' }, fields, { actor: ' ' })).toEqual({})
})

test('the sentence says values by their labels', () => {
  expect(sentenceOf(fields, { actor: 'ann', result: 'ok' })).toBe('actor is ann and result is Done')
  expect(sentenceOf(fields, {})).toBe('')
})

test('times are durations or dates, in UTC unless they say a zone', () => {
  const now = Date.UTC(2026, 10, 26, 12)
  expect(sinceMicros('24h', now)).toBe(BigInt(Date.UTC(2026, 10, 25, 12)) * 1000n)
  expect(sinceMicros('7d', now)).toBe(BigInt(Date.UTC(2026, 10, 19, 12)) * 1000n)
  expect(sinceMicros('2026-11-20', now)).toBe(BigInt(Date.UTC(2026, 10, 20)) * 1000n)
  expect(sinceMicros('2026-11-20T10:00', now)).toBe(BigInt(Date.UTC(2026, 10, 20, 10)) * 1000n)
  expect(sinceMicros('2026-11-20T10:00+02:00', now)).toBe(BigInt(Date.UTC(2026, 10, 20, 8)) * 1000n)
  for (const bad of ['yesterday', '24', 'h', '2026-13-40', '999999d']) expect(sinceMicros(bad, now)).toBeUndefined()
  expect(checkTime('yesterday')).toContain('"yesterday" is no time')
})
