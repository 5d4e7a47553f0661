import { QueryClientProvider } from '@tanstack/react-query'
import { screen } from '@testing-library/react'
import { beforeEach, expect, test, vi } from 'vitest'
import type { KubeObject } from '../kube/object'
import { Summary } from './Summary'
import { newQueryClient } from '#/api/call'
import { transport } from '#/api/transport'
import { renderRouted } from '#/test/router'

// Roles of a whole page are slow on a loaded machine.
vi.setConfig({ testTimeout: 30_000 })

const crashed = { name: 'main', ready: false, restartCount: 3, state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: { terminated: { exitCode: 7, reason: 'Error', finishedAt: '2026-11-29T10:00:00Z' } } }
const podOf = (...containerStatuses: object[]) =>
  ({ kind: 'Pod', apiVersion: 'v1', metadata: { name: 'web-1', namespace: 'shop', uid: 'u-1' }, spec: { containers: [{ name: 'main', image: 'web' }] }, status: { phase: 'Running', containerStatuses, conditions: [] } }) as unknown as KubeObject
const place = { cluster: 'edge-1', gvr: { group: '', version: 'v1', resource: 'pods' }, namespace: 'shop' }

const show = (object: KubeObject) =>
  renderRouted(
    <QueryClientProvider client={newQueryClient()}>
      <Summary place={place} object={object} />
    </QueryClientProvider>,
  )

beforeEach(() => {
  vi.restoreAllMocks()
  vi.spyOn(transport, 'unary').mockImplementation((method) => Promise.resolve({ message: method.name === 'Links' ? { links: [{ title: 'Pod in Grafana', url: 'https://grafana.example.com/d/pod?var-pod=web-1' }] } : {} }) as never)
})

test('the page of a pod that crashes has its last lines, the way to its whole log at that time, and its links', async () => {
  const stream = vi.spyOn(transport, 'stream').mockResolvedValue({
    message: (async function* () {
      yield { lines: '2026-11-29T09:59:59.000000000Z cannot open the shelf\n' }
    })(),
  } as never)
  await show(podOf(crashed))
  expect((await screen.findByRole('log', { name: 'Last lines of web-1 main' })).textContent).toContain('cannot open the shelf')
  expect(screen.getByRole('link', { name: 'web-1 main' }).getAttribute('href')).toBe('/clusters/edge-1/k8s/pods.v1/shop/web-1/logs?c=main&previous=1&from=2026-11-29T09:50:00.000Z&to=2026-11-29T10:02:00.000Z')
  expect((await screen.findByRole('link', { name: /Pod in Grafana/ })).getAttribute('href')).toBe('https://grafana.example.com/d/pod?var-pod=web-1')
  expect(stream).toHaveBeenCalledOnce()
})

test('the page of a pod that is well reads no log', async () => {
  const stream = vi.spyOn(transport, 'stream').mockRejectedValue(new Error('nothing is to be read'))
  await show(podOf({ ...crashed, ready: true, state: { running: {} } }))
  await screen.findByRole('link', { name: /Pod in Grafana/ })
  expect(screen.queryByText('Last lines of failing containers')).toBeNull()
  expect(stream).not.toHaveBeenCalled()
})
