// @vitest-environment jsdom
import { expect, it } from 'vitest'
import type { KubeObject } from '../kube/object'
import { runs, shellIn } from './shellIn'

const now = Date.parse('2026-11-30T12:00:00Z')
const running = (minutes: number) => ({ running: { startedAt: new Date(now - minutes * 60_000).toISOString() } })
const ended = { terminated: { exitCode: 7 } }
const crashes = { lastState: ended, restartCount: 2 }
const pod = (...containerStatuses: object[]) =>
  ({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec: { containers: [{ name: 'main' }, { name: 'beside' }] }, status: { containerStatuses } }) as KubeObject

it('offers a shell where it would last', () => {
  const beside = { name: 'beside', state: running(1) }
  const at = (main: object, other: object = beside) => shellIn(pod({ name: 'main', ...main }, other), now)
  expect(at({ state: running(1) })).toBe('main')
  expect(at({ state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: ended })).toBe('beside')
  // Its crash is over for seconds, and the next one is near: the choice stays.
  expect(at({ state: running(0), ...crashes })).toBe('beside')
  expect(at({ state: running(10), ...crashes })).toBe('main')
  expect(at({ state: {}, lastState: {} })).toBe('beside')
  // Both crash: the one that runs now; neither runs: kubectl's.
  expect(at({ state: ended, lastState: ended }, { ...beside, ...crashes })).toBe('beside')
  expect(at({ state: running(0), ...crashes }, { name: 'beside', state: ended })).toBe('main')
  expect(at({ state: ended }, { name: 'beside', state: ended })).toBe('main')
  expect(shellIn(pod(), now)).toBe('main')
})

it('keeps to a container that restarted once', () => {
  const beside = { name: 'beside', state: running(60) }
  expect(shellIn(pod({ name: 'main', state: running(1), lastState: ended, restartCount: 1 }, beside), now)).toBe('main')
  const named = pod({ name: 'main', state: running(60) }, { ...beside, state: running(1), lastState: ended, restartCount: 1 })
  named.metadata.annotations = { 'kubectl.kubernetes.io/default-container': 'beside' }
  expect(shellIn(named, now)).toBe('beside')
})

it('offers one in a main container before a sidecar', () => {
  const at = (main: object, beside: object) => {
    const meshed = pod({ name: 'main', ...main }, { name: 'beside', ...beside })
    meshed['spec'].initContainers = [{ name: 'proxy', restartPolicy: 'Always' }]
    meshed['spec'].ephemeralContainers = [{ name: 'debugger' }]
    meshed['status'].initContainerStatuses = [{ name: 'proxy', state: running(60) }]
    return shellIn(meshed, now)
  }
  expect(at({ state: running(0), ...crashes }, { state: running(60) })).toBe('beside')
  expect(at({ state: ended, ...crashes }, { state: running(60) })).toBe('beside')
  expect(at({ state: ended, ...crashes }, { state: ended })).toBe('proxy')
})

it('does not offer one in a container that does not run', () => {
  expect(runs(pod({ name: 'main', state: ended }), 'main')).toBe(false)
  expect(runs(pod(), 'main')).toBe(false)
  expect(runs(pod({ name: 'main', state: { running: {} } }), 'main')).toBe(true)
})
