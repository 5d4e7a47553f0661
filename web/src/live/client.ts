import { session } from '#/api/session'
import { fromJson } from '@bufbuild/protobuf'
import { type ClusterRow, ClusterRowSchema, type ServiceRow, ServiceRowSchema } from '#/api/gen/hub/v1/fleet_pb'
import { learn } from '#/status/clock'
import { Host, type ToHost, type ToTab } from './host'
import type { Connection } from './machine'
import { type TopicSet, mergeTopics, sameTopics, noTopics } from './topics'

// A tab's end of the live stream. Parts of the page subscribe with the topics
// they show; changes of the set are sent together after 150 ms.

export interface Subscriber {
  topics: TopicSet
  services?: (rows: ServiceRow[]) => void
  clusters?: (rows: ClusterRow[]) => void
  gone?: (ids: string[]) => void
  hints?: (hints: string[]) => void
  // What was missed is unknown.
  relist?: () => void
}

const subscribers = new Set<Subscriber>()
const watchers = new Set<() => void>()
// Until the hub is heard for the first time, the stream is on its way.
const unheard: Connection = { phase: 'connecting', heardAt: 0 }
let connection = unheard
let send: ((message: ToHost) => void) | undefined
let sent = noTopics
let timer: ReturnType<typeof setTimeout> | undefined

const debounce = 150

export function follow(subscriber: Subscriber): () => void {
  subscribers.add(subscriber)
  changed()
  return () => {
    subscribers.delete(subscriber)
    changed()
  }
}

function changed(): void {
  clearTimeout(timer)
  timer = setTimeout(() => {
    const topics = mergeTopics([...subscribers].map((s) => s.topics))
    if (sameTopics(topics, sent)) return
    sent = topics
    send ??= connect()
    send({ topics })
  }, debounce)
}

function take(message: ToTab): void {
  if ('connection' in message) {
    connection = message.connection.phase === 'idle' && message.connection.heardAt === 0 ? unheard : message.connection
    for (const watcher of watchers) watcher()
    return
  }
  if ('relist' in message) {
    for (const s of subscribers) s.relist?.()
    return
  }
  const { batch } = message
  // What another tab was told a moment ago says nothing about now.
  if (batch.at > 0n) {
    learn(batch.at)
    connection = { phase: 'live', heardAt: Date.now() }
  }
  // Fields that a newer hub has are no reason to fail.
  const known = { ignoreUnknownFields: true }
  const allServices = batch.services.map((row) => fromJson(ServiceRowSchema, row, known))
  const allClusters = batch.clusters.map((row) => fromJson(ClusterRowSchema, row, known))
  for (const s of subscribers) {
    const services = allServices.filter((r) => s.topics.services.includes(r.id))
    const clusters = allClusters.filter((r) => r.cluster && s.topics.clusters.includes(r.cluster.id))
    const hints = batch.hints.filter((h) => s.topics.hints.includes(h))
    if (services.length) s.services?.(services)
    if (clusters.length) s.clusters?.(clusters)
    if (hints.length) s.hints?.(hints)
    if (batch.gone.length) s.gone?.(batch.gone)
  }
}

function connect(): (message: ToHost) => void {
  const post = overWorker() ?? alone()
  post({ csrf: session().csrf })
  post({ visible: document.visibilityState === 'visible' })
  document.addEventListener('visibilitychange', () => {
    post({ csrf: session().csrf })
    post({ visible: document.visibilityState === 'visible' })
  })
  window.addEventListener('pagehide', () => post({ bye: true }))
  return post
}

function overWorker(): ((message: ToHost) => void) | undefined {
  if (typeof SharedWorker === 'undefined') return undefined
  try {
    const worker = new SharedWorker(new URL('./worker.ts', import.meta.url), { type: 'module', name: 'axle-live' })
    worker.port.addEventListener('message', (event: MessageEvent<ToTab>) => take(event.data))
    worker.port.start()
    return (message) => worker.port.postMessage(message)
  } catch {
    return undefined
  }
}

// alone is for browsers without SharedWorker: the tab is its own host.
function alone(): (message: ToHost) => void {
  const waiting: ToHost[] = []
  let give: ((message: ToHost) => void) | undefined
  void import('./upstream').then(({ hubUpstream }) => {
    const host = new Host((csrf) => hubUpstream(location.origin, csrf))
    const port = { post: take }
    host.add(port)
    give = (message) => host.take(port, message)
    waiting.forEach(give)
    return undefined
  })
  return (message) => (give ? give(message) : waiting.push(message))
}

export function watchConnection(listener: () => void): () => void {
  watchers.add(listener)
  return () => watchers.delete(listener)
}

export function currentConnection(): Connection {
  return connection
}
