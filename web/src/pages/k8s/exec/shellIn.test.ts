// @vitest-environment jsdom
import { expect, it } from 'vitest'
import type { KubeObject } from '../kube/object'
import { runs, shellIn } from './shellIn'

const now = Date.parse('2026-11-30T12:00:00Z')
const running = (minutes: number) => ({ running: { startedAt: new Date(now - minutes * 60_000).toISOString() } })
const ended = { terminated: { exitCode: 7 } }
const pod = (...containerStatuses: object[]) =>
  ({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec: { containers: [{ name: 'main' }, { name: 'beside' }] }, status: { containerStatuses } }) as KubeObject

it('offers a shell where it would last', () => {
  const beside = { name: 'beside', state: running(1) }
  const at = (main: object, other: object = beside) => shellIn(pod({ name: 'main', ...main }, other), now)
  expect(at({ state: running(1) })).toBe('main')
  expect(at({ state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: ended })).toBe('beside')
  // Its crash is over for seconds, and the next one is near: the choice stays.
  expect(at({ state: running(0), lastState: ended })).toBe('beside')
  expect(at({ state: running(10), lastState: ended })).toBe('main')
  expect(at({ state: {}, lastState: {} })).toBe('beside')
  // Both crash: the one that runs now; neither runs: kubectl's.
  expect(at({ state: ended, lastState: ended }, { ...beside, lastState: ended })).toBe('beside')
  expect(at({ state: running(0), lastState: ended }, { name: 'beside', state: ended })).toBe('main')
  expect(at({ state: ended }, { name: 'beside', state: ended })).toBe('main')
  expect(shellIn(pod(), now)).toBe('main')
})

it('does not offer one in a container that does not run', () => {
  expect(runs(pod({ name: 'main', state: ended }), 'main')).toBe(false)
  expect(runs(pod(), 'main')).toBe(false)
  expect(runs(pod({ name: 'main', state: { running: {} } }), 'main')).toBe(true)
})
