// @vitest-environment jsdom
import { create } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { LogBuffer } from './buffer'
import { levels } from './line'
import { type LogRequest, type LogTold, read } from './useLog'
import { SearchLogsResponseSchema, type SearchLogsRequest } from '#/api/gen/hub/v1/proxy_pb'
import { transport } from '#/api/transport'

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

const at = (second: number) => `2026-11-29T10:00:${String(second).padStart(2, '0')}.000000000Z`
const line = (pod: string, second: number, text: string) => ({ time: at(second), namespace: 'shop', pod, container: 'main', text })
const source = (pod: string) => ({ namespace: 'shop', pod, container: 'main' })

type Answer = Parameters<typeof create<typeof SearchLogsResponseSchema>>[1]

// plays answers one call after the other; an error at the end breaks that stream.
function plays(...calls: (Answer | Error)[][]) {
  const asked: SearchLogsRequest[] = []
  vi.spyOn(transport, 'stream').mockImplementation((async (_m: unknown, _s: unknown, _t: unknown, _h: unknown, input: AsyncIterable<SearchLogsRequest>) => {
    for await (const one of input) asked.push(one)
    const answers = calls[asked.length - 1] ?? []
    return {
      message: (async function* () {
        for (const a of answers) {
          if (a instanceof Error) throw a
          yield create(SearchLogsResponseSchema, a)
        }
      })(),
    }
  }) as never)
  return asked
}

async function run(request: LogRequest) {
  const buffer = new LogBuffer()
  buffer.setFilter({ match: undefined, not: undefined, levels: new Set(levels) })
  const told: LogTold[] = []
  const done = read({ cluster: 'edge-1', ...request }, buffer, (t) => told.push(t), new AbortController().signal)
  await vi.runAllTimersAsync()
  await done
  return { buffer, told, last: told.at(-1)!, words: told.map((t) => t.state.word) }
}

test('a log that is followed goes on after its stream broke: no line is lost, none comes twice', async () => {
  const broken = new ConnectError('the tunnel went down', Code.Unavailable)
  const asked = plays(
    [{ sources: [source('a'), source('b')] }, { lines: [line('a', 1, 'a1'), line('b', 2, 'b2'), line('b', 2, 'b2 again')] }, broken],
    // From a little before the newest line on: some that are there, and one of a that was late.
    [{ lines: [line('a', 1, 'a1'), line('a', 2, 'a2'), line('b', 2, 'b2'), line('b', 2, 'b2 again'), line('b', 2, 'b2 third'), line('a', 3, 'a3')] }],
  )
  const { buffer, last, told } = await run({ service: 'web', follow: true, tailLines: 100n })
  expect(buffer.visible().map((l) => l.text)).toEqual(['a1', 'b2', 'b2 again', 'a2', 'b2 third', 'a3'])
  expect(asked.map((r) => [r.follow, r.tailLines, r.since])).toEqual([[true, 100n, undefined], [true, 0n, BigInt(Date.parse(at(0))) * 1_000n]])
  expect(told.some((t) => t.state.error === broken)).toBe(true)
  expect(last).toMatchObject({ state: { word: 'ended', error: undefined }, sources: [source('a'), source('b')] })
})

test('what can never work ends it, and so does a range', async () => {
  const refused = new ConnectError('cannot get resource "pods/log"', Code.PermissionDenied)
  plays([refused])
  expect((await run({ service: 'web', follow: true })).last.state).toMatchObject({ word: 'failed', error: refused })
  plays([{ lines: [line('a', 1, 'a1')] }, new ConnectError('cut', Code.Unavailable)])
  expect((await run({ service: 'web', until: 1n })).last.state.word).toBe('failed')
})

test('sentences of the hub stand once, of a connection the last one, and losses are counted', async () => {
  plays([
    { notices: [{ code: 'capped', text: '50 of 80 containers are read' }, { code: 'interrupted', text: 'the tunnel went down' }], dropped: 3n },
    { notices: [{ code: 'capped', text: '50 of 80 containers are read' }, { code: 'resumed', text: 'the logs go on' }], dropped: 4n, lines: [{ ...line('a', 1, 'long'), cutBytes: 9n, context: true }] },
  ])
  const { buffer, last } = await run({ service: 'web' })
  expect(last.notices).toEqual(['50 of 80 containers are read', 'the logs go on'])
  expect(last.lost).toBe(7)
  expect(buffer.visible()[0]).toMatchObject({ text: 'long … 9 more bytes', around: true })
})

test('without a free connection it is read again every 3 s', async () => {
  Object.defineProperty(navigator, 'locks', { configurable: true, value: { request: (_n: string, _o: unknown, f: (lock: unknown) => unknown) => Promise.resolve(f(null)) } })
  const asked = plays([{ lines: [line('a', 1, 'a1')] }], [{ lines: [line('a', 1, 'a1'), line('a', 4, 'a4')] }], [new ConnectError('over', Code.PermissionDenied)])
  const { buffer, words } = await run({ service: 'web', follow: true })
  Reflect.deleteProperty(navigator, 'locks')
  expect(buffer.visible().map((l) => l.text)).toEqual(['a1', 'a4'])
  expect(asked.map((r) => r.follow)).toEqual([false, false, false])
  expect(words.filter((w) => w === 'polling')).toHaveLength(2)
})

test('a tail of a store that was cut goes on', async () => {
  const asked = plays([{ lines: [line('a', 1, 'a1')] }], [{ lines: [line('a', 1, 'a1'), line('a', 2, 'a2')] }], [new ConnectError('over', Code.PermissionDenied)])
  const { buffer } = await run({ store: { name: 'logs' }, follow: true })
  expect(buffer.visible().map((l) => l.text)).toEqual(['a1', 'a2'])
  expect(asked.map((r) => r.follow)).toEqual([true, true, true])
})
