import { describe, expect, it } from 'vitest'
import { type Column, chosen, fitting, nextSort, template } from './layout'
import { rowAfter } from './navigate'
import { add, isSelected, nobody, sizeOf, toggle } from './select'
import { overscan, pageSize, pagesOf, scrollTo, visibleRows } from './window'
import { randomOf } from '#/test/random'

describe('the window', () => {
  it('covers what is visible, for any scroll, and stays within the rows', () => {
    const random = randomOf(3)
    for (let n = 0; n < 2_000; n++) {
      const total = Math.floor(random() * 100_000)
      const row = [28, 32, 44][Math.floor(random() * 3)]!
      const height = Math.floor(random() * 1_500)
      const scroll = random() * Math.max(0, total * row - height)
      const { from, to } = visibleRows(scroll, height, row, total)
      expect(from).toBeGreaterThanOrEqual(0)
      expect(to).toBeLessThanOrEqual(total)
      if (total > 0) {
        expect(from).toBeLessThanOrEqual(Math.floor(scroll / row))
        expect(to).toBeGreaterThanOrEqual(Math.min(total, Math.ceil((scroll + height) / row)))
        expect(to - from).toBeLessThanOrEqual(Math.ceil(height / row) + 1 + 2 * overscan)
      }
    }
  })

  it('is empty without rows, and survives a scroll beyond the end', () => {
    expect(visibleRows(0, 600, 32, 0)).toEqual({ from: 0, to: 0 })
    const { from, to } = visibleRows(1e9, 600, 32, 10)
    expect(to).toBe(10)
    expect(from).toBeLessThan(to)
  })

  it('needs the pages that it touches', () => {
    expect(pagesOf({ from: 0, to: 40 })).toEqual([0])
    expect(pagesOf({ from: pageSize - 1, to: pageSize + 1 })).toEqual([0, 1])
    expect(pagesOf({ from: 99_960, to: 100_000 })).toEqual([499])
    expect(pagesOf({ from: 5, to: 5 })).toEqual([])
  })

  it('scrolls only as far as needed', () => {
    expect(scrollTo(5, 0, 320, 32)).toBeUndefined()
    expect(scrollTo(10, 0, 320, 32)).toBe(32)
    expect(scrollTo(2, 320, 320, 32)).toBe(64)
  })
})

describe('keys', () => {
  it.each([
    ['j', 5, 6],
    ['ArrowDown', 99, 99],
    ['k', 0, 0],
    ['ArrowUp', 5, 4],
    ['PageDown', 5, 14],
    ['PageUp', 5, 0],
    ['Home', 50, 0],
    ['End', 50, 99],
    ['a', 5, undefined],
  ])('%s from row %i goes to %s', (key, from, to) => {
    expect(rowAfter(key, from, 100, 10)).toBe(to)
  })
})

describe('columns', () => {
  const columns: Column<null>[] = [
    { id: 'a', header: 'A', cell: () => '', min: 100 },
    { id: 'b', header: 'B', cell: () => '', min: 100, drop: 1 },
    { id: 'c', header: 'C', cell: () => '', min: 100, drop: 2 },
    { id: 'd', header: 'D', cell: () => '', min: 100, drop: 2, optional: true },
  ]
  it('go from the least important, the rightmost first, and never all', () => {
    expect(fitting(columns, 1_000, 32).map((c) => c.id)).toEqual(['a', 'b', 'c', 'd'])
    expect(fitting(columns, 380, 32).map((c) => c.id)).toEqual(['a', 'b', 'c'])
    expect(fitting(columns, 300, 32).map((c) => c.id)).toEqual(['a', 'b'])
    expect(fitting(columns, 10, 32).map((c) => c.id)).toEqual(['a'])
  })
  it('are the usual ones unless somebody chose', () => {
    expect(chosen(columns, []).map((c) => c.id)).toEqual(['a', 'b', 'c'])
    expect(chosen(columns, ['d', 'a']).map((c) => c.id)).toEqual(['a', 'd'])
    expect(template(columns.slice(0, 1), 32)).toBe('32px 100px 44px')
  })
  it('sort up, down, and not', () => {
    expect(nextSort('', 'name')).toBe('name')
    expect(nextSort('name', 'name')).toBe('-name')
    expect(nextSort('-name', 'name')).toBe('')
    expect(nextSort('-verdict', 'name')).toBe('name')
  })
})

describe('a selection', () => {
  it('is some rows, or all that match', () => {
    const some = add(toggle(nobody, 'a'), ['b', 'a'])
    expect(sizeOf(some, 9_944)).toBe(2)
    expect(isSelected(some, 'b')).toBe(true)
    expect(sizeOf({ all: true }, 9_944)).toBe(9_944)
    expect(toggle({ all: true }, 'z')).toEqual({ all: false, ids: new Set(['z']) })
  })
})
