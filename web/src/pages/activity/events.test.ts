import { expect, test } from 'vitest'
import { eventMatches, requestOf, toneOf } from './events'

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
