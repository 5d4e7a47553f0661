import { create } from '@bufbuild/protobuf'
import { QueryClientProvider } from '@tanstack/react-query'
import { fireEvent, screen, waitFor } from '@testing-library/react'
import { beforeEach, expect, test, vi } from 'vitest'
import type { KubeObject } from '../kube/object'
import { LogsTab } from './LogsTab'
import { newQueryClient } from '#/api/call'
import { SearchLogsResponseSchema, type SearchLogsRequest } from '#/api/gen/hub/v1/proxy_pb'
import { transport } from '#/api/transport'
import { renderRouted } from '#/test/router'

// Roles of a whole page are slow on a loaded machine.
vi.setConfig({ testTimeout: 30_000 })

const pod = (name: string) => ({ kind: 'Pod', apiVersion: 'v1', metadata: { name, namespace: 'shop', uid: name }, spec: { containers: [{ name: 'main' }, { name: 'proxy' }] }, status: {} })
const deployment = { kind: 'Deployment', apiVersion: 'apps/v1', metadata: { name: 'web', namespace: 'shop', uid: 'u' }, spec: { selector: { matchLabels: { app: 'web' } } } } as unknown as KubeObject
const place = { cluster: 'edge-1', gvr: { group: 'apps', version: 'v1', resource: 'deployments' }, namespace: 'shop' }

const asked: SearchLogsRequest[] = []
beforeEach(() => {
  vi.restoreAllMocks()
  asked.length = 0
  vi.spyOn(transport, 'unary').mockImplementation((async (_m: unknown, _s: unknown, _t: unknown, _h: unknown, input: { objects: { resource: string } }) => ({
    message: { json: new TextEncoder().encode(JSON.stringify({ kind: 'PodList', apiVersion: 'v1', items: input.objects.resource === 'pods' ? [pod('web-1-aaaaa'), pod('web-1-bbbbb')] : [] })), continue: '' },
  })) as never)
  vi.spyOn(transport, 'stream').mockImplementation((async (_m: unknown, _s: unknown, _t: unknown, _h: unknown, input: AsyncIterable<SearchLogsRequest>) => {
    for await (const one of input) asked.push(one)
    const source = (name: string) => ({ namespace: 'shop', pod: name, container: 'main' })
    return {
      message: (async function* () {
        yield create(SearchLogsResponseSchema, { sources: ['web-1-aaaaa', 'web-1-bbbbb'].map(source), lines: [{ ...source('web-1-bbbbb'), time: '2026-11-29T10:00:01.000000000Z', text: 'from one' }, { ...source('web-1-aaaaa'), time: '2026-11-29T10:00:02.000000000Z', text: 'from another' }] })
      })(),
    }
  }) as never)
})

const show = () =>
  renderRouted(
    <QueryClientProvider client={newQueryClient()}>
      <LogsTab place={place} object={deployment} />
    </QueryClientProvider>,
  )
const last = () => asked.at(-1)!
const eventually = (check: () => void) => waitFor(check, { timeout: 10_000 })

test('a workload is one call, however many pods it has, and each line says where it is from', async () => {
  await show()
  await screen.findByText('from one', {}, { timeout: 10_000 })
  expect(asked).toHaveLength(1)
  expect(last()).toMatchObject({ kind: 'Deployment', namespace: 'shop', name: 'web', follow: true, tailLines: 1_000n, pods: [], containers: [] })
  await eventually(() => expect(screen.getByRole('log').textContent).toMatch(/…1-bbbbb.*from one.*…1-aaaaa.*from another/))
})

test('another range is read again, also of a log that is not followed', async () => {
  await show()
  await screen.findByText('from one', {}, { timeout: 10_000 })
  fireEvent.click(screen.getByLabelText('Follow'))
  await eventually(() => expect(last().follow).toBe(false))
  const before = asked.length
  fireEvent.change(screen.getByLabelText('Range'), { target: { value: '5m' } })
  await eventually(() => expect(asked).toHaveLength(before + 1))
  expect(Number(last().since! / 1_000n)).toBeGreaterThan(Date.now() - 310_000)
  expect(last()).toMatchObject({ follow: false, tailLines: 50_000n })
})

test('a chosen container stays chosen, and is asked for by its name', async () => {
  await show()
  await screen.findByText('from one', {}, { timeout: 10_000 })
  fireEvent.click(screen.getByRole('button', { name: 'proxy' }))
  await eventually(() => expect(last().containers).toEqual(['main']))
  fireEvent.click(screen.getByRole('button', { name: '…1-aaaaa' }))
  await eventually(() => expect(last()).toMatchObject({ containers: ['main'], pods: ['web-1-bbbbb'] }))
})

test('lines wrap on a phone, unless somebody turns it off', async () => {
  vi.spyOn(globalThis, 'matchMedia').mockImplementation((media) => ({ matches: media.includes('max-width'), media, addEventListener() {}, removeEventListener() {} }) as unknown as MediaQueryList)
  await show()
  await screen.findByText('from one', {}, { timeout: 10_000 })
  const wrapped = () => screen.getByRole('log').hasAttribute('data-wrap')
  expect(wrapped()).toBe(true)
  fireEvent.click(screen.getByLabelText('Wrap'))
  await eventually(() => expect(wrapped()).toBe(false))
  fireEvent.click(screen.getByLabelText('Wrap'))
  await eventually(() => expect(wrapped()).toBe(true))
})
