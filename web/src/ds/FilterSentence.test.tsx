import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useState } from 'react'
import { expect, test, vi } from 'vitest'
import { FilterSentence } from './FilterSentence'
import { type FilterValues, checkTime } from './filters'

// Real keys are slow on a loaded machine.
vi.setConfig({ testTimeout: 30_000 })

const fields = [
  { id: 'actor', label: 'Actor', words: 'actor is' },
  { id: 'from', label: 'From', words: 'since', check: checkTime },
]

function Bar() {
  const [values, set] = useState<FilterValues>({})
  return (
    <>
      <FilterSentence noun="records" fields={fields} values={values} onChange={set} />
      <output>{JSON.stringify(values)}</output>
    </>
  )
}

test('a filter is made, changed and removed by keyboard', async () => {
  render(<Bar />)
  await userEvent.click(screen.getByRole('button', { name: 'Filter' }))
  await userEvent.keyboard('ann{Enter}')
  expect(screen.getByText('{"actor":"ann"}')).toBeTruthy()
  expect(document.activeElement).toBe(screen.getByRole('button', { name: 'Filter' }))
  await userEvent.click(screen.getByRole('button', { name: 'Change the filter: actor is ann' }))
  await userEvent.clear(screen.getByLabelText('Actor'))
  await userEvent.keyboard('bob{Enter}')
  expect(screen.getByText('{"actor":"bob"}')).toBeTruthy()
  await userEvent.click(screen.getByRole('button', { name: 'Remove the filter Actor' }))
  expect(screen.getByText('{}')).toBeTruthy()
})

test('a value that is wrong is kept and explained, and Esc leaves the filter as it was', async () => {
  render(<Bar />)
  await userEvent.click(screen.getByRole('button', { name: 'Filter' }))
  await userEvent.selectOptions(screen.getByLabelText('Filter by'), 'from')
  await userEvent.type(screen.getByLabelText('From'), 'yesterday{Enter}')
  expect(screen.getByText(/"yesterday" is no time/)).toBeTruthy()
  expect(screen.getByText('{}')).toBeTruthy()
  await userEvent.keyboard('{Escape}')
  expect(screen.queryByLabelText('From')).toBeNull()
  expect(screen.getByText('{}')).toBeTruthy()
})
