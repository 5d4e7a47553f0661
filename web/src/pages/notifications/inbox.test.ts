// @vitest-environment jsdom
import { expect, test } from 'vitest'
import { countText, newest, toneOf } from './inbox'

test('the bell counts to 99', () => {
  expect(countText(0)).toBe('0')
  expect(countText(99)).toBe('99')
  expect(countText(100)).toBe('99+')
})

test('what was seen is read up to the newest, in any order', () => {
  expect(newest([{ at: 5n }, { at: 9n }, { at: 7n }])).toBe(9n)
  expect(newest([])).toBe(0n)
})

test('a failure stands out', () => {
  expect(toneOf('service.failed')).toBe('bad')
  expect(toneOf('service.recovered')).toBe('good')
  expect(toneOf('service.update')).toBe('idle')
})
