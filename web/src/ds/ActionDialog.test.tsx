import { create, toBinary } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useState } from 'react'
import { expect, test, vi } from 'vitest'
import { ActionDialog } from './ActionDialog'
import { TextField } from './Form'
import { ManagementSchema } from '#/api/gen/hub/v1/hub_pb'

// A real dialog and real keys are slow on a loaded machine.
vi.setConfig({ testTimeout: 30_000 })

function conflict(tool: string): ConnectError {
  const error = new ConnectError(`repository "a" is managed by ${tool}`, Code.Aborted)
  error.details.push({ type: ManagementSchema.typeName, value: toBinary(ManagementSchema, create(ManagementSchema, { by: { tool, id: 'infra' } })) })
  return error
}

function Form({ run, close, takeOver = true }: { run: (takeOver: boolean) => Promise<unknown>; close: () => void; takeOver?: boolean }) {
  const [name, setName] = useState('')
  return (
    <ActionDialog title="Edit" submit="Save" run={run} onClose={close} takeOver={takeOver} check={() => (name ? undefined : 'Name: it is missing.')}>
      <TextField label="Name" value={name} onChange={setName} />
    </ActionDialog>
  )
}

test('what is wrong is said before anything is called', async () => {
  const run = vi.fn(() => Promise.resolve())
  render(<Form run={run} close={() => {}} />)
  await userEvent.click(screen.getByRole('button', { name: 'Save' }))
  expect(screen.getByText('Name: it is missing.')).toBeTruthy()
  expect(run).not.toHaveBeenCalled()
})

test('a conflict keeps what was typed, and only a second step takes the object over', async () => {
  const run = vi.fn((takeOver: boolean) => (takeOver ? Promise.resolve() : Promise.reject(conflict('terraform'))))
  const close = vi.fn()
  render(<Form run={run} close={close} />)
  await userEvent.type(screen.getByLabelText('Name'), 'fleet{Enter}')
  expect(await screen.findByText('repository "a" is managed by terraform')).toBeTruthy()
  expect((screen.getByLabelText('Name') as HTMLInputElement).value).toBe('fleet')
  expect(close).not.toHaveBeenCalled()
  await userEvent.click(screen.getByRole('button', { name: 'Take over and save' }))
  expect(run.mock.calls).toEqual([[false], [true]])
  expect(close).toHaveBeenCalledOnce()
})

test('no take-over is offered where the API has none, or the hub is the manager', async () => {
  for (const [tool, takeOver] of [['terraform', false], ['hub', true]] as const) {
    const { unmount } = render(<Form run={() => Promise.reject(conflict(tool))} close={() => {}} takeOver={takeOver} />)
    await userEvent.type(screen.getByLabelText('Name'), 'fleet{Enter}')
    await screen.findByText(`repository "a" is managed by ${tool}`)
    expect(screen.queryByRole('button', { name: /Take over/ })).toBeNull()
    unmount()
  }
})

test('proving who one is opens another tab, so that what was typed stays', async () => {
  const error = new ConnectError('this needs your password or passkey again, from the last 10 minutes: open /login/again in the browser, then repeat it', Code.PermissionDenied)
  render(<Form run={() => Promise.reject(error)} close={() => {}} />)
  await userEvent.type(screen.getByLabelText('Name'), 'fleet{Enter}')
  const link = await screen.findByRole('link', { name: 'Confirm that it is you' })
  expect(link.getAttribute('target')).toBe('_blank')
  expect((screen.getByLabelText('Name') as HTMLInputElement).value).toBe('fleet')
})
