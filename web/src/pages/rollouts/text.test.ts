import { create } from '@bufbuild/protobuf'
import { expect, test } from 'vitest'
import { byUrgency, deleteText, reachText, rolloutOf, selectionOf, stateOf } from './text'
import { GlobalServiceSchema, GlobalServiceSettingsSchema, GlobalServiceStateSchema } from '#/api/gen/hub/v1/globals_pb'

test('the selection is said as all clusters, or by what they have', () => {
  expect(selectionOf(create(GlobalServiceSettingsSchema, {}))).toBe('all clusters')
  expect(selectionOf(create(GlobalServiceSettingsSchema, { project: 'shop', tags: { tier: 'edge' }, mgmt: false, ignoreClusters: ['a'] }))).toBe("clusters with project shop, tag tier=edge, not the hub's own, not a")
})

test('the state is the worst one, never good while something fails', () => {
  const state = (s: object) => stateOf(create(GlobalServiceStateSchema, s)).word
  expect(state({ services: 2, ready: 2 })).toBe('Healthy')
  expect(state({ services: 2, ready: 1 })).toBe('Progressing')
  expect(state({ services: 2, ready: 2, failing: 1 })).toBe('Failed')
  expect(state({ services: 2, ready: 1, health: { Degraded: 1 } })).toBe('Failed')
  expect(state({})).toBe('Pending')
})

test('a rollout that waits for a person is not shown as one that goes on', () => {
  const of = (rollingOut: boolean, rolloutWaits: string) => rolloutOf({ deleting: false, rollingOut, rolloutWaits })
  expect(of(true, 'Stopped')).toEqual({ word: 'Stopped' })
  expect(of(true, '').label).toBe('Rolling out')
  expect(of(false, '').label).toBe('Everywhere')
})

test('what waits for a person is listed first', () => {
  const all = [
    { name: 'a' },
    { name: 'b', rollingOut: true },
    { name: 'd', rollingOut: true, rolloutWaits: 'Stopped' },
    { name: 'c', rollingOut: true, rolloutWaits: 'Stopped' },
    { name: 'e', rollingOut: true, rolloutWaits: 'Paused' },
  ].map((g) => create(GlobalServiceSchema, g))
  expect(all.toSorted(byUrgency).map((g) => g.name).join('')).toBe('cdeba')
})

test('ready clusters of a rollout that goes on are not taken for clusters that have it', () => {
  expect(reachText('3 of 3 clusters ready', 'Stopped', 1)).toBe('3 of 3 clusters ready, change given to 1')
  expect(reachText('3 of 3 clusters ready', 'Aborted', 0)).toBe('3 of 3 clusters ready, change given to none')
  for (const phase of ['', 'Done', 'Superseded']) expect(reachText('all', phase, 3)).toBe('all')
})

test('a delete says what each cascade does', () => {
  expect(deleteText('delete', 3)).toContain('3 services are deleted')
  expect(deleteText('delete', 1)).toContain('Its 1 service is deleted')
  expect(deleteText('delete')).toContain('Its services are deleted')
  expect(deleteText('detach', 1)).toContain('stay on the clusters')
  expect(deleteText('', 0)).toContain('without an owner')
})
