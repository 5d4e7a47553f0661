import { describe, expect, it } from 'vitest'
import { type Field, type Filter, allows, filterOf, isFiltered, noFilter, searchOf, sentenceOf, withValue, without } from './filter'
import { parseSearch, stringifySearch } from '#/app/search'
import { pick, randomOf } from '#/test/random'

const fields: Field[] = [
  { id: 'verdict', label: 'Status', status: true },
  { id: 'tag', label: 'Tag' },
  { id: 'cluster', label: 'Cluster' },
]

describe('a filter', () => {
  it('is the same after it was in an address', () => {
    const random = randomOf(42)
    const values = ['Failed', '!Stale', 'tier=prod', 'a b', 'ü&=?#%+', "o'clock", 'x,y', '100%', 'a/b']
    for (let n = 0; n < 500; n++) {
      const filter: Filter = { text: pick(random, ['', 'api', '*-web !old', 'a&b=c', 'ß ?']), values: {} }
      const chosen: Record<string, string[]> = {}
      for (const { id } of fields) {
        const list = [...new Set(Array.from({ length: Math.floor(random() * 4) }, () => pick(random, values)))]
        if (list.length) chosen[id] = list
      }
      const before = { ...filter, values: chosen }
      const address = stringifySearch(searchOf(before, fields))
      expect(filterOf(parseSearch(address), fields), address).toEqual(before)
    }
  })

  it('ignores parameters that are no fields, and empty values', () => {
    expect(filterOf({ verdict: ['', '!', 'Failed', 'Failed'], peek: 'x', sort: '-name' }, fields)).toEqual({ text: '', values: { verdict: ['Failed'] } })
  })

  it('reads as a sentence', () => {
    const filter: Filter = { text: 'api', values: { verdict: ['Failed', 'NeedsYou'], tag: ['tier=prod'], cluster: ['!edge-1'] } }
    expect(sentenceOf(filter, fields).map((c) => c.words)).toEqual(['status is Failed or Needs you', 'tag is tier=prod', 'cluster is not edge-1', 'name has “api”'])
    expect(sentenceOf(without(filter, 'q'), fields)).toHaveLength(3)
    expect(isFiltered(noFilter)).toBe(false)
    expect(isFiltered(filter)).toBe(true)
  })

  it('never has a value and its opposite', () => {
    const on = withValue(withValue(noFilter, 'verdict', 'Stale', true), 'verdict', '!Stale', true)
    expect(on.values['verdict']).toEqual(['!Stale'])
    expect(withValue(on, 'verdict', '!Stale', false).values['verdict']).toEqual([])
  })

  it('allows what the hub would', () => {
    expect(allows([], 'x')).toBe(true)
    expect(allows(['Failed', 'Stale'], 'Stale')).toBe(true)
    expect(allows(['Failed'], 'Healthy')).toBe(false)
    expect(allows(['!Failed'], 'Healthy')).toBe(true)
    expect(allows(['!Failed'], 'Failed')).toBe(false)
  })
})
