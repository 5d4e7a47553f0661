import { expect, test } from 'vitest'
import { eventMatches, pathOf, requestOf, toneOf } from './events'

const event = { at: 1_000_000n, kind: 'service.failed', by: 'ann@example.com', object: 'edge-1/web', message: 'timed out' }

test('the hub filters by cluster and service, a service says its cluster', () => {
  expect(requestOf({})).toEqual({ cluster: '', service: '' })
  expect(requestOf({ cluster: 'edge-1' })).toEqual({ cluster: 'edge-1', service: '' })
  expect(requestOf({ service: 'edge-2/web', cluster: 'edge-1' })).toEqual({ cluster: 'edge-2', service: 'web' })
})

test('the rest is filtered among what was read', () => {
  const fits = (values: Record<string, string>) => eventMatches(event, values, 3_600_000)
  expect(fits({})).toBe(true)
  expect(fits({ kind: 'service.failed' })).toBe(true)
  expect(fits({ kind: 'service.*' })).toBe(true)
  expect(fits({ kind: 'service' })).toBe(false)
  expect(fits({ by: 'ANN' })).toBe(true)
  expect(fits({ text: 'edge-1' })).toBe(true)
  expect(fits({ text: 'gone' })).toBe(false)
  expect(fits({ from: '30m' })).toBe(false)
  expect(fits({ from: '1h' })).toBe(true)
})

test('failures stand out', () => {
  expect(toneOf('service.failed')).toBe('bad')
  expect(toneOf('service.recovered')).toBe('good')
  expect(toneOf('service.updated')).toBe('idle')
})

test('what an event is about has an address when it has a page', () => {
  expect(pathOf('service prod/web')).toBe('/services/prod/web')
  expect(pathOf('cluster edge-1')).toBe('/clusters/edge-1')
  expect(pathOf('repository fleet')).toBe('/repositories/fleet')
  expect(pathOf('global service shipper')).toBe('/rollouts/shipper')
  expect(pathOf('user ann@example.com')).toBeUndefined()
  expect(pathOf('cluster //evil.example.com')).toBe('/clusters/%2F%2Fevil.example.com')
})
