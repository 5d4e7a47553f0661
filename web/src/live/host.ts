import { type Batch, type Connection, Machine, type Upstream } from './machine'
import { type TopicSet, mergeTopics, noTopics } from './topics'

// From a tab to its host, and back.
export type ToHost = { topics: TopicSet } | { visible: boolean } | { csrf: string } | { bye: true }
export type ToTab = { connection: Connection } | { batch: Batch } | { relist: true }

// Port is one tab.
export interface Port {
  post(message: ToTab): void
}

interface Tab {
  topics: TopicSet
  visible: boolean
}

export const sleepAfter = 60_000

// A tab has read its page before its topics arrive, 150 ms at least. The hub gives what
// no tab had asked for before; what another tab was told in between is told once more.
export const lately = 2_000

// Host keeps the stream for one or many tabs.
export class Host {
  private readonly tabs = new Map<Port, Tab>()
  private readonly machine: Machine
  private recent: { passedAt: number; batch: Batch }[] = []
  private csrf = ''
  private sleeping: ReturnType<typeof setTimeout> | undefined

  constructor(upstream: (csrf: () => string) => Upstream) {
    this.machine = new Machine(upstream(() => this.csrf), {
      connection: (connection) => this.post({ connection }),
      relist: () => this.post({ relist: true }),
      batch: (batch) => this.pass(batch),
    })
  }

  add(port: Port): void {
    this.tabs.set(port, { topics: noTopics, visible: true })
    port.post({ connection: this.machine.connection })
    this.look()
  }

  take(port: Port, message: ToHost): void {
    const tab = this.tabs.get(port)
    if (!tab) return
    if ('csrf' in message) this.renew(message.csrf)
    else if ('bye' in message) this.tabs.delete(port)
    else if ('visible' in message) tab.visible = message.visible
    else {
      const before = names(tab.topics)
      tab.topics = message.topics
      const anew = new Set([...names(tab.topics)].filter((n) => !before.has(n)))
      for (const { batch } of this.told()) {
        const missed = partOf(batch, anew)
        if (missed.services.length + missed.clusters.length + missed.gone.length + missed.hints.length > 0) port.post({ batch: { ...missed, at: 0n } })
      }
    }
    this.look()
    if (!('csrf' in message)) this.machine.want(mergeTopics([...this.tabs.values()].map((t) => t.topics)))
  }

  // renew takes the token of a session; with another one the stream is tried
  // again that ended with the last.
  private renew(csrf: string): void {
    if (csrf === this.csrf) return
    this.csrf = csrf
    this.machine.renew()
  }

  // look pauses the stream once all tabs were hidden for a minute.
  private look(): void {
    if ([...this.tabs.values()].some((t) => t.visible)) {
      clearTimeout(this.sleeping)
      this.sleeping = undefined
      this.machine.wake()
    } else {
      this.sleeping ??= setTimeout(() => this.machine.sleep(), sleepAfter)
    }
  }

  private post(message: ToTab): void {
    for (const port of this.tabs.keys()) port.post(message)
  }

  // pass gives each tab what it asked for.
  private pass(batch: Batch): void {
    this.recent = [...this.told(), { passedAt: Date.now(), batch }]
    for (const [port, tab] of this.tabs) port.post({ batch: partOf(batch, names(tab.topics)) })
  }

  // told are the batches of the last moments, oldest first.
  private told() {
    return this.recent.filter((r) => Date.now() - r.passedAt < lately)
  }
}

// names are what somebody asks for: ids and hints never have the same name.
function names(t: TopicSet): Set<string> {
  return new Set([...t.services, ...t.clusters, ...t.hints])
}

function partOf(batch: Batch, wanted: Set<string>): Batch {
  return {
    streamId: '',
    resumeToken: '',
    at: batch.at,
    services: batch.services.filter((s) => wanted.has(s.id)),
    clusters: batch.clusters.filter((c) => wanted.has(c.cluster.id)),
    gone: batch.gone.filter((id) => wanted.has(id)),
    hints: batch.hints.filter((h) => wanted.has(h)),
  }
}
