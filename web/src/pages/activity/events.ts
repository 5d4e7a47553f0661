import type { Event } from '#/api/gen/hub/v1/hub_pb'
import { serviceName } from '#/api/names'
import { type FilterField, type FilterValues, checkTime, sinceMicros } from '#/ds/filters'

// What the hub filters by, and what is filtered among what was read.
export const eventFields: FilterField[] = [
  { id: 'cluster', label: 'Cluster', words: 'cluster is', placeholder: 'edge-1' },
  { id: 'service', label: 'Service', words: 'service is', placeholder: 'edge-1/web', check: (v) => (serviceName.test(v) ? undefined : 'Write CLUSTER/NAME, such as edge-1/web') },
  { id: 'kind', label: 'Kind', words: 'kind is', placeholder: 'service.failed or service.*' },
  { id: 'by', label: 'By', words: 'by', placeholder: 'ann@example.com' },
  { id: 'text', label: 'Text', words: 'text contains', placeholder: 'timeout' },
  { id: 'from', label: 'From', words: 'since', placeholder: '24h, 7d or 2026-11-20', check: checkTime },
]

// requestOf is the part of a filter that the hub does.
export function requestOf(values: FilterValues): { cluster: string; service: string } {
  const [cluster, service] = (values['service'] ?? '').split('/')
  return { cluster: service ? cluster! : (values['cluster'] ?? ''), service: service ?? '' }
}

type Row = Pick<Event, 'at' | 'kind' | 'by' | 'message' | 'object'>

export function eventMatches(e: Row, values: FilterValues, now: number): boolean {
  const { kind, by, text, from } = values
  if (kind && !(kind.endsWith('*') ? e.kind.startsWith(kind.slice(0, -1)) : e.kind === kind)) return false
  if (by && !e.by.toLowerCase().includes(by.toLowerCase())) return false
  if (text && !`${e.object} ${e.message}`.toLowerCase().includes(text.toLowerCase())) return false
  const since = from ? sinceMicros(from, now) : undefined
  return since === undefined || e.at >= since
}

// toneOf says how bad the kind of an event is.
export function toneOf(kind: string): 'bad' | 'good' | 'idle' {
  if (/(failed|refused|lost|stopped|broken|conflict|denied)/.test(kind)) return 'bad'
  if (/(recovered|applied|finished|registered|approved)/.test(kind)) return 'good'
  return 'idle'
}

// pathOf is where what an event is about can be seen. An event says names in its
// object, such as "service prod/web"; its cluster and service are ids.
export function pathOf(object: string): string | undefined {
  const found = /^(service|cluster|repository|global service|managed namespace) (\S+)$/.exec(object)
  if (!found) return undefined
  const [, kind, name] = found as unknown as [string, string, string]
  const parts = name.split('/')
  if (kind === 'service') return parts.length === 2 ? `/services/${parts.map(encodeURIComponent).join('/')}` : undefined
  const root = { cluster: 'clusters', repository: 'repositories', 'global service': 'rollouts', 'managed namespace': 'managed-namespaces' }[kind]
  return `/${root}/${encodeURIComponent(name)}`
}
