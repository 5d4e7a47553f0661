import { act, fireEvent, render, screen } from '@testing-library/react'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { FilterBar } from './FilterBar'
import { noFilter } from './filter'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

let asked: string[]
// The address has a filter some time after it was asked for.
let answer: (text: string) => void

const bar = (text: string) => <FilterBar noun="service" filter={{ ...noFilter, text }} fields={[]} facets={[]} total={0} unfiltered={0} onFilter={(f) => asked.push(f.text)} />

beforeEach(() => {
  asked = []
  const { rerender } = render(bar(''))
  answer = (text) => rerender(bar(text))
})

const field = () => screen.getByRole<HTMLInputElement>('searchbox')
const type = (value: string) => fireEvent.change(field(), { target: { value } })
const rest = () => act(() => vi.advanceTimersByTime(1_000))

test('what is typed while the filter is applied stays, and is applied as well', () => {
  type('serv')
  rest()
  type('servi')
  answer('serv')
  expect(field().value).toBe('servi')
  rest()
  expect(asked).toEqual(['serv', 'servi'])
})

test('what is taken back while the filter is applied is taken back', () => {
  type('web')
  rest()
  type('')
  answer('web')
  expect(field().value).toBe('')
  rest()
  expect(asked).toEqual(['web', ''])
})

test('a filter from elsewhere is in the field, and asked for by nobody', () => {
  type('web')
  rest()
  answer('web')
  answer('api')
  expect(field().value).toBe('api')
  answer('')
  expect(field().value).toBe('')
  rest()
  expect(asked).toEqual(['web'])
})
