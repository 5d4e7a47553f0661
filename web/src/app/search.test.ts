import { expect, it } from 'vitest'
import { listOf, parseSearch, stringifySearch, textOf } from './search'

it('keeps plain text plain', () => {
  expect(stringifySearch({ verdict: ['Failed', 'Stale'], tag: 'tier=prod', q: 'api *', none: undefined, empty: '' })).toBe('?verdict=Failed&verdict=Stale&tag=tier=prod&q=api+*')
  expect(parseSearch('?verdict=Failed&verdict=Stale&q=a%26b')).toEqual({ verdict: ['Failed', 'Stale'], q: 'a&b' })
})

it('reads one or many', () => {
  expect(listOf(undefined)).toEqual([])
  expect(listOf('a')).toEqual(['a'])
  expect(textOf(['a', 'b'])).toBe('b')
})
