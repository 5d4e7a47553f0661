import { create } from '@bufbuild/protobuf'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import type { ReactNode } from 'react'
import { beforeEach, expect, test, vi } from 'vitest'
import { DeleteClusterDialog } from './DeleteClusterDialog'
import { DestroyClusterDialog } from './DestroyClusterDialog'
import { EachMachine } from './EachMachine'
import { type ClusterOrigin, ClusterOriginSchema, ClusterSchema } from '#/api/gen/hub/v1/hub_pb'
import { setSession } from '#/api/session'
import { transport } from '#/api/transport'

// A real dialog and real keys are slow on a loaded machine.
vi.setConfig({ testTimeout: 30_000 })

const made = create(ClusterSchema, { name: 'shop-1', origin: { managementCluster: 'mgmt', template: 'docker' } })
const calls: [string, unknown][] = []
beforeEach(() => {
  calls.length = 0
  vi.spyOn(transport, 'unary').mockImplementation(((method: { name: string; output: never }, ...[, , , input]: unknown[]) => {
    calls.push([method.name, input])
    return Promise.resolve({ message: create(method.output) })
  }) as never)
})
const show = (children: ReactNode) => render(<QueryClientProvider client={new QueryClient()}>{children}</QueryClientProvider>)

test('destroy asks for the name, and says what goes and what stays', async () => {
  const close = vi.fn()
  show(<DestroyClusterDialog cluster={made} onClose={close} />)
  expect(screen.getByText(/mgmt deletes the Cluster object/)).toBeTruthy()
  expect(screen.getByText(/its own agent removes the load balancers, and the volumes that are not retained/)).toBeTruthy()
  await userEvent.type(screen.getByLabelText('Type shop-1 to confirm'), 'shop')
  await userEvent.click(screen.getByRole('button', { name: 'Destroy' }))
  expect(calls).toEqual([])
  expect(screen.getByText('Type shop-1 to confirm.')).toBeTruthy()
  await userEvent.type(screen.getByLabelText('Type shop-1 to confirm'), '-1{Enter}')
  await vi.waitFor(() => expect(close).toHaveBeenCalledOnce())
  expect(calls).toEqual([['Destroy', { name: 'shop-1', management: { by: { tool: 'console' }, takeOver: false } }]])
})

test('delete of a cluster from a template keeps its machines, points to destroy, and only detaches', async () => {
  const deleted = vi.fn()
  show(<DeleteClusterDialog cluster={made} onClose={() => {}} onDeleted={deleted} />)
  expect(screen.getByText(/To remove them, destroy the cluster instead/)).toBeTruthy()
  const button = screen.getByRole('button', { name: 'Delete' }) as HTMLButtonElement
  await userEvent.type(screen.getByLabelText('Type shop-1 to confirm'), 'shop-1')
  expect(button.disabled).toBe(true)
  await userEvent.click(screen.getByRole('checkbox', { name: /Detach it/ }))
  await userEvent.click(button)
  await vi.waitFor(() => expect(deleted).toHaveBeenCalledOnce())
  expect(calls).toEqual([['Delete', expect.objectContaining({ name: 'shop-1', detach: true })]])
})

test('a machine of a pool is replaced by its uid after a question, and one of the control plane is not', async () => {
  const origin: ClusterOrigin = create(ClusterOriginSchema, {
    managementCluster: 'mgmt',
    state: { machines: [{ name: 'cp-1', uid: 'u-0', phase: 'Running' }, { name: 'm-1', uid: 'u-1', pool: 'workers', phase: 'Running' }, { name: 'm-2', uid: 'u-2', pool: 'workers', phase: 'Deleting' }] },
    replacements: [{ machine: 'm-2', uid: 'u-2', pool: 'workers', message: 'Pod web/front: cannot evict', requestedAt: 7n }],
  })
  setSession({ id: 'u-1', name: 'kim', groups: [], admin: true, provedAt: 0, csrf: 'x' })
  show(<EachMachine cluster={made} origin={origin} state={origin.state!} />)
  expect(screen.getByText('is being replaced: Pod web/front: cannot evict')).toBeTruthy()
  const buttons = screen.getAllByRole('button', { name: 'Replace…' })
  expect(buttons.map((b) => [b.closest('tr')!.cells[0]!.textContent, (b as HTMLButtonElement).disabled])).toEqual([['m-1', false], ['m-2', true]])
  await userEvent.click(buttons[0]!)
  expect(screen.getByText(/then makes another one in the pool workers/)).toBeTruthy()
  await userEvent.click(screen.getByRole('button', { name: 'Replace' }))
  await vi.waitFor(() => expect(calls).toContainEqual(['ReplaceMachine', { name: 'shop-1', machine: 'm-1', uid: 'u-1' }]))
})
