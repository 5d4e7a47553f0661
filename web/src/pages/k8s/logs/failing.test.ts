// @vitest-environment jsdom
import { expect, it } from 'vitest'
import { failingContainers, readLastLines, speakers } from './failing'
import type { KubeObject } from '../kube/object'

const ended = (exitCode: number) => ({ terminated: { exitCode, reason: exitCode ? 'Error' : 'Completed' } })
const statuses = (...containerStatuses: object[]) => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, status: { containerStatuses } }) as KubeObject

it('takes the previous run of what crashes again and again, and the present one of what is not ready', () => {
  const object = statuses(
    { name: 'waits', restartCount: 4, state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: ended(7) },
    { name: 'again', restartCount: 1, state: { running: {} }, lastState: ended(1) },
    { name: 'over', state: ended(2) },
    { name: 'done', state: ended(0) },
    { name: 'slow', state: { running: {} }, ready: false },
    { name: 'well', restartCount: 2, state: { running: {} }, ready: true, lastState: ended(1) },
    { name: 'never', state: { waiting: { reason: 'ImagePullBackOff' } } },
  )
  const of = (degraded: boolean) => failingContainers(object, degraded).map((f) => `${f.container}${f.previous ? ' previous' : ''}`)
  expect(of(true)).toEqual(['waits previous', 'again previous', 'over', 'slow'])
  expect(of(false)).toEqual(['waits previous', 'again previous', 'over'])
  expect(failingContainers(object, true)[0]!.why).toBe('previous run: Error, exit code 7')
})

it('knows pods that never started, that were evicted, and whose first container failed', () => {
  const of = (status: object) => failingContainers({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, status } as KubeObject, true).map((f) => `${f.container}: ${f.why}`)
  expect(failingContainers({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' } }, true)).toEqual([])
  expect(of({ phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False' }] })).toEqual([])
  expect(of({ phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' })).toEqual([])
  expect(
    of({
      initContainerStatuses: [{ name: 'migrate', restartCount: 2, state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: ended(1) }],
      containerStatuses: [{ name: 'web', ready: false, state: { waiting: { reason: 'PodInitializing' } } }],
    }),
  ).toEqual(['migrate: previous run: Error, exit code 1'])
  expect(of({ containerStatuses: [{ name: 'web', restartCount: 1, state: { running: {} }, lastState: { terminated: { exitCode: 137, reason: 'OOMKilled' } } }] })).toEqual(['web: previous run: OOMKilled, exit code 137'])
})

const log = { cluster: 'c', namespace: 'n', pod: 'p', container: 'x', previous: false }
const pieces = function* (text: string) {
  for (let at = 0; at < text.length; at += 32_768) yield { lines: text.slice(at, at + 32_768) }
}

it('reads fewer lines when those before are too long, and ends each call', async () => {
  const asked: number[] = []
  const signals: AbortSignal[] = []
  let taken = 0
  const all = ['short', 'y'.repeat(10_000_000), '2026-11-29T10:00:00Z panic: \u001B[31mboom\u001B[0m']
  const end = await readLastLines(log, new AbortController().signal, async function* ({ tailLines }, signal) {
    asked.push(Number(tailLines))
    signals.push(signal)
    for (const piece of pieces(`${all.slice(-Number(tailLines)).join('\n')}\n`)) {
      taken += piece.lines.length
      yield piece
    }
  })
  expect(end.lines.map((l) => l.text)).toEqual(['panic: boom'])
  expect(end.cut).toBe(true)
  expect(asked).toEqual([20, 5, 1])
  expect(taken).toBeLessThan(3 * 131_072)
  expect(signals.every((s) => s.aborted)).toBe(true)
})

it('shows the beginning of a last line of megabytes', async () => {
  const end = await readLastLines(log, new AbortController().signal, async function* () {
    yield* pieces('z'.repeat(10_000_000))
  })
  expect(end.lines.map((l) => l.text.length)).toEqual([1_002])
})

it('shows lines that are numbers, as a container wrote them', async () => {
  const all = Array.from({ length: 160 }, (_, i) => `2026-11-29T10:00:00.${String(i).padStart(9, '0')}Z ${i + 1}`)
  const end = await readLastLines(log, new AbortController().signal, async function* ({ tailLines }) {
    yield* pieces(`${all.slice(-Number(tailLines)).join('\n')}\n`)
  })
  expect(end.lines.map((l) => l.text)).toEqual(Array.from({ length: 20 }, (_, i) => String(141 + i)))
  expect(end.cut).toBe(false)
})

it('lets one pod speak for its siblings, and not one that is well', () => {
  const of = (name: string, owner: string, container: object) => ({ object: { ...statuses(container), metadata: { name, uid: name, ...(owner && { ownerReferences: [{ uid: owner }] }) } } as KubeObject, degraded: true })
  const crashes = { name: 'main', restartCount: 2, state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: ended(7) }
  const well = { name: 'main', ready: true, state: { running: {} } }
  expect(speakers([of('a-2', 'a', well), of('a-1', 'a', crashes), of('a-0', 'a', crashes), of('b-0', 'b', crashes), of('bare', '', crashes)]).map((p) => p.object.metadata.name)).toEqual(['a-1', 'b-0', 'bare'])
})
