import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Host, lately, type Port, type ToTab } from './host'
import type { Batch, Upstream } from './machine'
import { maxRows, mergeTopics, type TopicSet } from './topics'

const topics = (services: string[], hints: string[] = []): TopicSet => ({ services, clusters: [], hints })

let watched: { topics: TopicSet; signal: AbortSignal }[]
let send: (b: Partial<Batch>) => void
const upstream: Upstream = {
  watch(t, _, signal) {
    watched.push({ topics: t, signal })
    return {
      async *[Symbol.asyncIterator]() {
        for (;;) {
          yield await new Promise<Batch>((resolve) => {
            send = (b) => resolve({ streamId: 'st', resumeToken: '', at: 1n, services: [], clusters: [], gone: [], hints: [], ...b })
          })
        }
      },
    }
  },
  setTopics: () => Promise.resolve(),
  kindOf: () => 'other',
}

function tab(): Port & { got: ToTab[]; batches: () => Batch[] } {
  const got: ToTab[] = []
  return { got, post: (m) => got.push(m), batches: () => got.flatMap((m) => ('batch' in m ? [m.batch] : [])) }
}

beforeEach(() => {
  vi.useFakeTimers()
  watched = []
})
afterEach(() => vi.useRealTimers())

describe('Host', () => {
  it('holds one stream for ten tabs, and gives each only its own', async () => {
    const host = new Host(() => upstream)
    const tabs = Array.from({ length: 10 }, tab)
    tabs.forEach((t, i) => {
      host.add(t)
      host.take(t, { topics: topics([`s${i}`], i === 0 ? ['events'] : []) })
    })
    await vi.advanceTimersByTimeAsync(0)
    expect(watched).toHaveLength(1)
    send({ services: [{ id: 's3' } as never, { id: 's4' } as never], hints: ['events'] })
    await vi.advanceTimersByTimeAsync(0)
    expect(tabs[3]!.batches()[0]!.services.map((s) => s.id)).toEqual(['s3'])
    expect(tabs[4]!.batches()[0]!.services.map((s) => s.id)).toEqual(['s4'])
    expect(tabs[0]!.batches()[0]!.hints).toEqual(['events'])
    expect(tabs[5]!.batches()[0]!.hints).toEqual([])
  })

  it('tells a tab that asks for it what another was told a moment ago', async () => {
    const host = new Host(() => upstream)
    const [a, b, c] = [tab(), tab(), tab()]
    for (const t of [a, b, c]) host.add(t)
    host.take(a, { topics: topics(['s1', 's2'], ['events']) })
    await vi.advanceTimersByTimeAsync(0)
    send({ services: [{ id: 's1', sync: 'Syncing' } as never], hints: ['events'] })
    await vi.advanceTimersByTimeAsync(250)
    send({ services: [{ id: 's1', sync: 'Synced' } as never] })
    await vi.advanceTimersByTimeAsync(0)
    host.take(b, { topics: topics(['s1', 's2'], ['events', 'fleet']) })
    host.take(b, { topics: topics(['s1', 's2'], ['events', 'fleet', 'rollouts']) })
    // In order, each once, and as nothing that was heard now.
    const again = (t: typeof a) => t.batches().filter((m) => m.at === 0n).map((m) => [m.services.map((r) => r['sync']), m.hints])
    expect(again(b)).toEqual([[['Syncing'], ['events']], [['Synced'], []]])
    expect(again(a)).toEqual([])
    await vi.advanceTimersByTimeAsync(lately)
    host.take(c, { topics: topics(['s1'], ['events']) })
    expect(again(c)).toEqual([])
  })

  it('sleeps a minute after the last tab was hidden, and not before', async () => {
    const host = new Host(() => upstream)
    const [a, b] = [tab(), tab()]
    for (const t of [a, b]) {
      host.add(t)
      host.take(t, { topics: topics(['s1']) })
    }
    const pass = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 10_000) {
        await vi.advanceTimersByTimeAsync(10_000)
        send({})
        await vi.advanceTimersByTimeAsync(0)
      }
    }
    await vi.advanceTimersByTimeAsync(0)
    send({})
    host.take(a, { visible: false })
    await pass(2 * 60_000)
    expect(watched[0]!.signal.aborted).toBe(false)
    host.take(b, { visible: false })
    await pass(60_000 - 10_000)
    expect(watched[0]!.signal.aborted).toBe(false)
    await pass(10_000)
    expect(watched[0]!.signal.aborted).toBe(true)
    expect(watched).toHaveLength(1)
  })

  it('wakes when a tab is visible again', async () => {
    const host = new Host(() => upstream)
    const a = tab()
    host.add(a)
    host.take(a, { topics: topics(['s1']) })
    host.take(a, { visible: false })
    await vi.advanceTimersByTimeAsync(60_000)
    expect(watched.at(-1)!.signal.aborted).toBe(true)
    const before = watched.length
    host.take(a, { visible: true })
    expect(watched).toHaveLength(before + 1)
  })

  it('forgets a tab that is closed', async () => {
    const host = new Host(() => upstream)
    const a = tab()
    host.add(a)
    host.take(a, { topics: topics(['s1']) })
    host.take(a, { bye: true })
    expect(watched[0]!.signal.aborted).toBe(true)
  })
})

describe('mergeTopics', () => {
  it('never asks for more rows than the hub takes', () => {
    const many = (n: number, p: string) => Array.from({ length: n }, (_, i) => `${p}${i}`)
    const merged = mergeTopics([
      { services: many(900, 's'), clusters: many(300, 'c'), hints: [] },
      { services: many(900, 's'), clusters: [], hints: ['fleet'] },
    ])
    expect(merged.services.length + merged.clusters.length).toBe(maxRows)
    expect(merged.clusters).toHaveLength(300)
    expect(merged.hints).toEqual(['fleet'])
  })
})
