import { Code, ConnectError } from '@connectrpc/connect'
import { QueryClientProvider } from '@tanstack/react-query'
import { screen } from '@testing-library/react'
import { expect, test, vi } from 'vitest'
import { LastLines } from './LastLines'
import { newQueryClient } from '#/api/call'
import { transport } from '#/api/transport'
import { renderRouted } from '#/test/router'

// Roles of a whole page are slow on a loaded machine.
vi.setConfig({ testTimeout: 30_000 })

const pod = {
  kind: 'Pod', apiVersion: 'v1', metadata: { name: 'web-1', namespace: 'shop', uid: 'u-1' },
  status: { containerStatuses: [{ name: 'main', ready: false, restartCount: 3, state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: { terminated: { exitCode: 7, reason: 'Error' } } }] },
}

test('who may read the pod and not its log sees why, and no log', async () => {
  const refusal = 'pods "web-1" is forbidden: User "kim@example.com" cannot get resource "pods/log" in the namespace "shop"'
  const stream = vi.spyOn(transport, 'stream').mockRejectedValue(new ConnectError(refusal, Code.PermissionDenied))
  await renderRouted(
    <QueryClientProvider client={newQueryClient()}>
      <LastLines cluster="edge-1" pods={[{ object: pod, degraded: true }]} />
    </QueryClientProvider>,
  )
  expect((await screen.findByText(/Its log can’t be read/)).textContent).toBe(`Its log can’t be read: ${refusal}`)
  expect(screen.getByText(/previous run: .*7.*3 restarts/)).toBeTruthy()
  expect(screen.queryByRole('log')).toBeNull()
  expect(stream).toHaveBeenCalledOnce()
})
