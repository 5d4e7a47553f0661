import { act, fireEvent, render, screen } from '@testing-library/react'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { FilterBar } from './FilterBar'
import type { Filter } from './filter'
import type { Facet } from '#/api/gen/hub/v1/fleet_pb'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

let asked: string[]
let wanted: Filter | undefined
// The address has a filter some time after it was asked for.
let answer: (text: string, values?: Filter['values']) => void

const fields = [{ id: 'verdict', label: 'Verdict', main: true }]
const facets = [{ field: 'verdict', values: [{ value: 'Failed', count: 3n }], leftOut: 0 }] as unknown as Facet[]
const ask = (f: Filter) => {
  asked.push(f.text)
  wanted = f
}
const bar = (text: string, values: Filter['values'] = {}) => <FilterBar noun="service" filter={{ text, values }} fields={fields} facets={facets} total={0} unfiltered={0} onFilter={ask} />

beforeEach(() => {
  asked = []
  wanted = undefined
  const { rerender } = render(bar(''))
  answer = (text, values) => rerender(bar(text, values))
})

const field = () => screen.getByRole<HTMLInputElement>('searchbox')
const type = (value: string) => fireEvent.change(field(), { target: { value } })
const rest = () => act(() => vi.advanceTimersByTime(1_000))
const choose = (value: string) => {
  fireEvent.click(screen.getByRole('button', { name: 'Verdict' }))
  fireEvent.click(screen.getByRole('checkbox', { name: new RegExp(value) }))
}
const failed = { verdict: ['Failed'] }

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

test('what was asked for twice before the first answer stays', () => {
  type('we')
  rest()
  type('web')
  rest()
  answer('we')
  expect(field().value).toBe('web')
  answer('web')
  rest()
  expect(field().value).toBe('web')
  expect(asked).toEqual(['we', 'web'])
})

test('a chip asks for the text in the field as well, which the address may not have yet', () => {
  type('webs')
  rest()
  choose('Failed')
  expect(wanted).toEqual({ text: 'webs', values: failed })
  answer('webs', failed)
  expect(field().value).toBe('webs')
  rest()
  expect(asked).toEqual(['webs', 'webs'])
})

test('a chip takes with it what is not asked for yet, and nobody asks again', () => {
  type('webs')
  choose('Failed')
  expect(wanted).toEqual({ text: 'webs', values: failed })
  rest()
  expect(asked).toEqual(['webs'])
})

test('a view with a text that was asked for in vain is in the field, and stays', () => {
  answer('', failed)
  type('webs')
  rest()
  fireEvent.click(screen.getByRole('button', { name: 'Clear' }))
  expect(field().value).toBe('')
  answer('')
  rest()
  expect(asked).toEqual(['webs', ''])
  answer('webs', failed)
  expect(field().value).toBe('webs')
  rest()
  expect(asked).toEqual(['webs', ''])
})

test('a view after a chip that overtook a text is in the field, and stays', () => {
  type('webs')
  rest()
  choose('Failed')
  answer('webs', failed)
  answer('')
  answer('webs')
  expect(field().value).toBe('webs')
  rest()
  expect(asked).toEqual(['webs', 'webs'])
})
