import { create } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { QueryClientProvider } from '@tanstack/react-query'
import { fireEvent, screen, waitFor } from '@testing-library/react'
import { beforeEach, expect, test, vi } from 'vitest'
import { Store } from './StorePage'
import { newQueryClient } from '#/api/call'
import { ObservabilitySourcesResponseSchema } from '#/api/gen/hub/v1/observe_pb'
import { SearchLogsResponseSchema, type SearchLogsRequest } from '#/api/gen/hub/v1/proxy_pb'
import { transport } from '#/api/transport'
import { renderRouted } from '#/test/router'

// Roles of a whole page are slow on a loaded machine.
vi.setConfig({ testTimeout: 60_000 })

const asked: SearchLogsRequest[] = []
let refusal: Error | undefined
const stores = [{ name: 'monitoring/prometheus:9090', type: 'prometheus', used: true }, { name: 'monitoring/loki:3100', type: 'loki' }, { name: 'logs', type: 'victorialogs', used: true, declared: true }]
const saved: Record<string, object[]> = {
  logfilters: [{ metadata: { name: 'errors', namespace: 'shop' }, spec: { name: 'Errors of the shop', query: '{app="web"} |= "error"', description: 'What wakes people' } }],
  logtails: [{ metadata: { name: 'web', namespace: 'shop' }, spec: { target: 'deployment/web', limit: 20 } }, { metadata: { name: 'broken', namespace: 'shop' }, spec: { target: 'web' } }],
}

function plays(sources: object[]) {
  vi.spyOn(transport, 'unary').mockImplementation((async (method: { name: string }, _s: unknown, _t: unknown, _h: unknown, input: { objects?: { resource: string } }) => ({
    message:
      method.name === 'Sources'
        ? create(ObservabilitySourcesResponseSchema, { sources, namespaces: { names: ['shop'] } })
        : { json: new TextEncoder().encode(JSON.stringify({ kind: 'List', apiVersion: 'v1', items: saved[input.objects?.resource ?? ''] ?? [] })), continue: '' },
  })) as never)
}

beforeEach(() => {
  vi.restoreAllMocks()
  asked.length = 0
  refusal = undefined
  vi.spyOn(transport, 'stream').mockImplementation((async (_m: unknown, _s: unknown, _t: unknown, _h: unknown, input: AsyncIterable<SearchLogsRequest>) => {
    for await (const one of input) asked.push(one)
    if (refusal) throw refusal
    return {
      message: (async function* () {
        yield create(SearchLogsResponseSchema, { notices: [{ code: 'capped', text: 'the last 1 lines are here' }], lines: [{ namespace: 'shop', pod: 'web-1', container: 'main', time: '2026-11-29T10:00:01.000000000Z', text: 'an <b>error</b>' }] })
      })(),
    }
  }) as never)
})

const show = () =>
  renderRouted(
    <QueryClientProvider client={newQueryClient()}>
      <Store cluster="edge-1" />
    </QueryClientProvider>,
  )
const eventually = (check: () => void) => waitFor(check, { timeout: 15_000 })
const last = () => asked.at(-1)!

test('a search asks when it is sent, with all that was typed, and the address has it', async () => {
  plays(stores)
  await show()
  await screen.findByText('an <b>error</b>', {}, { timeout: 15_000 })
  expect(last()).toMatchObject({ cluster: 'edge-1', namespace: '', match: '', follow: false, tailLines: 1_000n, store: { name: 'logs', query: '' } })
  expect(screen.getByText(/Limited to shop/)).toBeTruthy()
  await screen.findByText('the last 1 lines are here', {}, { timeout: 15_000 })
  const before = asked.length
  fireEvent.change(screen.getByLabelText('Lines with'), { target: { value: 'a.b' } })
  fireEvent.change(screen.getByLabelText('Matchers and filters'), { target: { value: '{app="web"}' } })
  fireEvent.change(screen.getByLabelText('Namespace'), { target: { value: 'shop' } })
  expect(asked).toHaveLength(before)
  fireEvent.submit(screen.getByRole('search'))
  await eventually(() => expect(last()).toMatchObject({ namespace: 'shop', match: String.raw`(?i)a\.b`, store: { name: 'logs', query: '{app="web"}' } }))
  // A switch beside the words searches too.
  fireEvent.click(screen.getByLabelText('Regular expressions'))
  await eventually(() => expect(last().match).toBe('(?i)a.b'))
  fireEvent.change(screen.getByLabelText('Store'), { target: { value: 'monitoring/loki:3100' } })
  await eventually(() => expect(last()).toMatchObject({ match: '(?i)a.b', store: { name: 'monitoring/loki:3100' } }))
})

test('a saved filter is asked for by its name and shows its query; a saved tail leads to its workload', async () => {
  plays(stores)
  await show()
  fireEvent.change(await screen.findByLabelText('Saved filter', {}, { timeout: 15_000 }), { target: { value: 'shop/errors' } })
  await eventually(() => expect(last()).toMatchObject({ kind: 'LogFilter', namespace: 'shop', name: 'errors', store: { name: 'logs', query: '' } }))
  expect(screen.getByText('{app="web"} |= "error"')).toBeTruthy()
  expect(screen.queryByLabelText('Matchers and filters')).toBeNull()
  expect(screen.getByRole('link', { name: 'shop/web' }).getAttribute('href')).toBe('/clusters/edge-1/k8s/deployments.v1.apps/shop/web/logs?since=n20&follow=0')
  expect(screen.queryByRole('link', { name: 'shop/broken' })).toBeNull()
})

test('what the hub refuses is shown in its words, and a cluster without a store says how to connect one', async () => {
  plays(stores)
  refusal = new ConnectError('the query: "rate" is no matcher or filter', Code.InvalidArgument)
  const shown = await show()
  await screen.findByText(/"rate" is no matcher or filter/, {}, { timeout: 15_000 })
  expect(screen.queryByText('No lines')).toBeNull()
  shown.unmount()
  plays(stores.slice(0, 1))
  await show()
  await screen.findByText('No store of logs', {}, { timeout: 15_000 })
  expect(screen.getByText(/axle telemetry-sources apply edge-1-logs/)).toBeTruthy()
})
