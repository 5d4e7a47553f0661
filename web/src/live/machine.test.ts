import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Batch, Machine, type Phase, type Upstream } from './machine'
import type { TopicSet } from './topics'

const clusters: TopicSet = { services: [], clusters: ['c1'], hints: ['clusters'] }
const more: TopicSet = { services: ['s1'], clusters: ['c1'], hints: ['clusters'] }

// FakeHub is the hub with every fault: its streams are driven by the test.
class FakeHub implements Upstream {
  opened: { topics: TopicSet; token: string; signal: AbortSignal; send: (b: Partial<Batch>) => void; end: (error?: unknown) => void }[] = []
  sets: TopicSet[] = []
  setFails = false

  watch(topics: TopicSet, token: string, signal: AbortSignal): AsyncIterable<Batch> {
    const waiting: (Batch | { error: unknown } | undefined)[] = []
    let wake = () => {}
    const push = (x: Batch | { error: unknown } | undefined) => {
      waiting.push(x)
      wake()
    }
    let n = 0
    this.opened.push({
      topics,
      token,
      signal,
      send: (b) => push({ streamId: `st${this.opened.length}`, resumeToken: `t${++n}`, at: 1n, services: [], clusters: [], gone: [], hints: [], ...b }),
      end: (error) => push(error === undefined ? undefined : { error }),
    })
    return {
      async *[Symbol.asyncIterator]() {
        for (;;) {
          while (waiting.length === 0) {
            await new Promise<void>((resolve) => {
              wake = resolve
            })
          }
          const next = waiting.shift()
          if (next === undefined) return
          if ('error' in next) throw next.error
          yield next
        }
      },
    }
  }

  setTopics(_: string, topics: TopicSet): Promise<void> {
    this.sets.push(topics)
    return this.setFails ? Promise.reject(new Error('no such stream')) : Promise.resolve()
  }

  kindOf(error: unknown) {
    return error as 'too-old' | 'no-stream' | 'signed-out' | 'forbidden' | 'other'
  }

  get last() {
    return this.opened.at(-1)!
  }
}

let hub: FakeHub
let machine: Machine
let phases: Phase[]
let relists: number
let batches: Batch[]

beforeEach(() => {
  vi.useFakeTimers()
  hub = new FakeHub()
  phases = []
  relists = 0
  batches = []
  // Full jitter with the greatest chance: every wait is as long as it can be.
  machine = new Machine(hub, { connection: (c) => phases.push(c.phase), relist: () => relists++, batch: (b) => batches.push(b) }, () => 1)
})
afterEach(() => {
  machine.sleep()
  vi.useRealTimers()
})

const after = (ms: number) => vi.advanceTimersByTimeAsync(ms)

async function live() {
  machine.want(clusters)
  hub.last.send({})
  await after(0)
}

describe('the stream', () => {
  it('is opened once somebody wants something, with the topics', async () => {
    expect(hub.opened).toHaveLength(0)
    await live()
    expect(hub.opened).toHaveLength(1)
    expect(hub.last.topics).toEqual(clusters)
    expect(machine.connection.phase).toBe('live')
    expect(machine.connection.heardAt).toBe(Date.now())
  })

  it('takes new topics without being opened again', async () => {
    await live()
    machine.want(more)
    await after(0)
    expect(hub.sets).toEqual([more])
    expect(hub.opened).toHaveLength(1)
  })

  it('sends topics that came while it was opening', async () => {
    machine.want(clusters)
    machine.want(more)
    hub.last.send({})
    await after(0)
    expect(hub.sets).toEqual([more])
  })

  it('is opened again with the topics when another replica does not know it', async () => {
    await live()
    hub.setFails = true
    machine.want(more)
    await after(0)
    expect(hub.opened).toHaveLength(2)
    expect(hub.last.topics).toEqual(more)
    expect(hub.last.token).toBe('t1')
  })

  it('ends when nobody wants anything', async () => {
    await live()
    machine.want({ services: [], clusters: [], hints: [] })
    expect(hub.last.signal.aborted).toBe(true)
    expect(machine.connection.phase).toBe('idle')
    await after(120_000)
    expect(hub.opened).toHaveLength(1)
  })
})

describe('silence', () => {
  it('of 35 s means reconnecting, not of 34 s', async () => {
    await live()
    await after(35_000 - 1_000)
    expect(machine.connection.phase).toBe('live')
    await after(1_000)
    expect(machine.connection.phase).toBe('reconnecting')
    expect(hub.opened).toHaveLength(2)
    expect(hub.opened[0]!.signal.aborted).toBe(true)
    expect(hub.last.token).toBe('t1')
  })

  it('is over with the next heartbeat', async () => {
    await live()
    const heard = machine.connection.heardAt
    await after(35_000)
    hub.last.send({})
    await after(0)
    expect(machine.connection.phase).toBe('live')
    expect(machine.connection.heardAt).toBeGreaterThan(heard)
  })

  it('does not come while there are heartbeats', async () => {
    await live()
    for (let i = 0; i < 20; i++) {
      await after(15_000)
      hub.last.send({})
      await after(0)
    }
    expect(hub.opened).toHaveLength(1)
    expect(phases).not.toContain('reconnecting')
  })
})

describe('a broken stream', () => {
  it('is tried again after 1, 2, 4, 8 and then 15 s at most', async () => {
    await live()
    const waits: number[] = []
    for (let i = 0; i < 7; i++) {
      const before = hub.opened.length
      hub.last.end('other')
      await after(0)
      expect(machine.connection.phase).toBe('reconnecting')
      let waited = 0
      while (hub.opened.length === before) {
        await after(100)
        waited += 100
      }
      waits.push(waited)
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000])
  })

  it('never waits less than half a second, whatever the chance', async () => {
    const lucky = new Machine(hub, { connection: () => {}, relist: () => {}, batch: () => {} }, () => 0)
    lucky.want(clusters)
    hub.last.send({})
    await after(0)
    hub.last.end('other')
    await after(499)
    expect(hub.opened).toHaveLength(1)
    await after(1)
    expect(hub.opened).toHaveLength(2)
    lucky.sleep()
  })

  it('reads the lists again when its token is too old, and begins anew', async () => {
    await live()
    hub.last.end('too-old')
    await after(1_000)
    expect(relists).toBe(1)
    expect(hub.last.token).toBe('')
  })

  it('that ended by itself goes on from its token without reading all again', async () => {
    await live()
    hub.last.end()
    await after(1_000)
    expect(hub.last.token).toBe('t1')
    expect(relists).toBe(0)
  })

  it('is not tried again when nobody is logged in', async () => {
    await live()
    hub.last.end('signed-out')
    await after(600_000)
    expect(hub.opened).toHaveLength(1)
    expect(machine.connection.phase).toBe('idle')
    machine.renew()
    expect(hub.opened).toHaveLength(2)
  })

  it('is no broken one when the person may see nothing, and is tried with other topics', async () => {
    machine.want(clusters)
    hub.last.end('forbidden')
    await after(600_000)
    expect(hub.opened).toHaveLength(1)
    expect(phases).toEqual(['connecting', 'idle'])
    expect(machine.connection.heardAt).toBeGreaterThan(0)
    machine.want(more)
    expect(hub.opened).toHaveLength(2)
  })

  it('is not opened twice when its session is renewed', async () => {
    await live()
    machine.renew()
    expect(hub.opened).toHaveLength(1)
  })
})

describe('a proxy that holds the stream back', () => {
  it('means polling after 5 s, every 15 s', async () => {
    machine.want(clusters)
    await after(5_000)
    expect(machine.connection.phase).toBe('polling')
    await after(3 * 15_000)
    expect(relists).toBe(3)
  })

  it('is tried again each minute, and forgotten when it lets something through', async () => {
    machine.want(clusters)
    await after(5_000 + 60_000)
    expect(hub.opened).toHaveLength(2)
    hub.last.send({})
    await after(0)
    expect(machine.connection.phase).toBe('live')
    const before = relists
    await after(30_000)
    expect(relists).toBe(before)
  })
})

describe('sleep', () => {
  it('ends the stream, and waking opens it from where it was', async () => {
    await live()
    machine.sleep()
    expect(hub.last.signal.aborted).toBe(true)
    await after(300_000)
    expect(hub.opened).toHaveLength(1)
    machine.wake()
    expect(hub.opened).toHaveLength(2)
    expect(hub.last.token).toBe('t1')
  })

  it('waking tries at once what waits to be tried', async () => {
    await live()
    hub.last.end('other')
    await after(0)
    machine.wake()
    expect(hub.opened).toHaveLength(2)
  })
})
