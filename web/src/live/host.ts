import { type Batch, type Connection, Machine, type Upstream } from './machine'
import { type TopicSet, mergeTopics, noTopics } from './topics'

// From a tab to its host, and back.
export type ToHost = { topics: TopicSet } | { visible: boolean } | { csrf: string } | { bye: true }
export type ToTab = { connection: Connection } | { batch: Batch } | { relist: true } | { missed: string[] }

// Port is one tab.
export interface Port {
  post(message: ToTab): void
}

interface Tab {
  topics: TopicSet
  visible: boolean
}

export const sleepAfter = 60_000

// A tab has read its page before its topics arrive, 150 ms at least. What another tab
// was told in between is missed; the hub gives what no tab had asked for before.
export const lately = 2_000

// Host keeps the stream for one or many tabs.
export class Host {
  private readonly tabs = new Map<Port, Tab>()
  private readonly machine: Machine
  // When ids and hints were last passed on, for as long as lately.
  private readonly told = new Map<string, number>()
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
      const missed = [...names(tab.topics)].filter((n) => !before.has(n) && Date.now() - (this.told.get(n) ?? 0) < lately)
      if (missed.length > 0) port.post({ missed })
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
    const now = Date.now()
    for (const [name, at] of this.told) if (now - at >= lately) this.told.delete(name)
    for (const name of [...batch.services.map((r) => r.id), ...batch.clusters.map((r) => r.cluster.id), ...batch.gone, ...batch.hints]) this.told.set(name, now)
    for (const [port, tab] of this.tabs) {
      const services = batch.services.filter((s) => tab.topics.services.includes(s.id))
      const clusters = batch.clusters.filter((c) => tab.topics.clusters.includes(c.cluster.id))
      const gone = batch.gone.filter((id) => tab.topics.services.includes(id) || tab.topics.clusters.includes(id))
      const hints = batch.hints.filter((h) => tab.topics.hints.includes(h))
      port.post({ batch: { streamId: '', resumeToken: '', at: batch.at, services, clusters, gone, hints } })
    }
  }
}

function names(t: TopicSet): Set<string> {
  return new Set([...t.services, ...t.clusters, ...t.hints])
}
