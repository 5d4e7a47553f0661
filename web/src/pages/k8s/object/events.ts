import type { KubeObject } from '../kube/object'

export interface KubeEvent {
  id: string
  type: string
  reason: string
  message: string
  count: number
  // The newest, in Kubernetes' form.
  at: string
  from: string
  about: string
}

export function eventOf(e: KubeObject): KubeEvent {
  const series = e['series'] as { count?: number; lastObservedTime?: string } | undefined
  const object = (e['involvedObject'] ?? {}) as { kind?: string; name?: string }
  return {
    id: e.metadata.uid ?? e.metadata.name,
    type: String(e['type'] ?? 'Normal'),
    reason: String(e['reason'] ?? ''),
    message: String(e['message'] ?? ''),
    count: Number(series?.count ?? e['count'] ?? 1),
    at: String(series?.lastObservedTime ?? e['lastTimestamp'] ?? e['eventTime'] ?? e.metadata.creationTimestamp ?? ''),
    from: String(e['source']?.component ?? e['reportingComponent'] ?? ''),
    about: `${object.kind ?? ''} ${object.name ?? ''}`,
  }
}

export function newestFirst(events: KubeEvent[]): KubeEvent[] {
  return events.toSorted((a, b) => (Date.parse(b.at) || 0) - (Date.parse(a.at) || 0))
}
