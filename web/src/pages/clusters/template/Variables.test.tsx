import { render, screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useState } from 'react'
import { expect, test, vi } from 'vitest'
import { Variables } from './Variables'
import { draftOf, readDraft } from './draft'
import { type Json, shapesOf } from './schema'

// Real keys are slow on a loaded machine.
vi.setConfig({ testTimeout: 30_000 })

const shapes = shapesOf(
  JSON.stringify({
    required: ['region'],
    properties: {
      region: { type: 'string', description: 'Where it is.' },
      size: { type: 'string', enum: ['small', 'large'], default: 'small' },
      encrypted: { type: 'boolean' },
      pools: { type: 'array', maxItems: 2, default: [{ name: 'a' }], items: { type: 'object', properties: { name: { type: 'string' }, count: { type: 'integer', default: 1, maximum: 9 } } } },
      extra: {},
    },
  }),
)!
const nothing = new Map<string, string>()

function Form({ refused = nothing }) {
  const [draft, setDraft] = useState(() => Object.fromEntries(shapes.map((s) => [s.name, draftOf(s)])))
  const { given, problems } = readDraft(shapes, draft)
  return (
    <>
      <Variables shapes={shapes} draft={draft} problems={new Map([...problems, ...refused])} onChange={setDraft} />
      <output>{JSON.stringify(given)}</output>
    </>
  )
}

const sent = () => JSON.parse(screen.getByRole('status').textContent) as { [name: string]: Json }

test('each variable has a field with its hint, and what is chosen and typed is sent', async () => {
  render(<Form />)
  expect(screen.getByLabelText('region').getAttribute('aria-invalid')).toBe('true')
  expect(screen.getByText('is needed')).toBeTruthy()
  await userEvent.type(screen.getByLabelText('region'), 'eu')
  await userEvent.selectOptions(screen.getByLabelText('size'), 'large')
  await userEvent.selectOptions(screen.getByLabelText('encrypted'), 'true')
  await userEvent.type(screen.getByLabelText('extra'), 'a: 1')
  expect(screen.queryByText('is needed')).toBeNull()
  expect(sent()).toEqual({ region: 'eu', size: 'large', encrypted: true, extra: { a: 1 } })
})

test('rows are added and removed, within their number, and a mistake is beside its field', async () => {
  render(<Form refused={new Map([['pools.1.name', 'is there twice'], ['pools', 'are too close']])} />)
  const row = (n: number) => within(screen.getByRole('group', { name: `pools ${n}` }))
  expect((row(1).getByLabelText('name') as HTMLInputElement).value).toBe('a')
  await userEvent.click(screen.getByRole('button', { name: 'Add to pools' }))
  expect((screen.getByRole('button', { name: 'Add to pools' }) as HTMLButtonElement).disabled).toBe(true)
  expect(row(2).getByText('is there twice')).toBeTruthy()
  expect(row(1).queryByText('is there twice')).toBeNull()
  expect(screen.getByText('are too close')).toBeTruthy()
  await userEvent.type(row(2).getByLabelText('name'), 'b')
  await userEvent.type(row(2).getByLabelText('count'), '0')
  expect(sent()['pools']).toEqual([{ name: 'a' }, { name: 'b', count: 10 }])
  expect(row(2).getByText('is at most 9')).toBeTruthy()
  await userEvent.click(screen.getByRole('button', { name: 'Remove pools 1' }))
  expect(sent()['pools']).toEqual([{ name: 'b', count: 10 }])
})
