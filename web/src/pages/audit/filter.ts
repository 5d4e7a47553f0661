import type { MessageInitShape } from '@bufbuild/protobuf'
import type { ListAuditRequestSchema } from '#/api/gen/hub/v1/audit_pb'
import { type FilterField, type FilterValues, checkTime, sinceMicros } from '#/ds/filters'

const results = ['ok', 'forbidden', 'unauthorized', 'conflict', 'invalid', 'not_found', 'unprocessable', 'exhausted', 'unavailable', 'internal']

export const auditFields: FilterField[] = [
  { id: 'actor', label: 'Actor', words: 'actor is', placeholder: 'ann@example.com' },
  { id: 'verb', label: 'Verb', words: 'verb is', placeholder: 'Services/Update, kubernetes, login', hint: 'A call as Service/Call, kubernetes for what went through to clusters, or login.' },
  { id: 'object', label: 'Object', words: 'object is', placeholder: 'service/edge-1/web, pods/exec or repository', hint: 'A kind, a name, or kind/name.' },
  { id: 'cluster', label: 'Cluster', words: 'cluster is', placeholder: 'edge-1' },
  { id: 'result', label: 'Result', words: 'result is', options: results.map((value) => ({ value, label: value })) },
  { id: 'from', label: 'From', words: 'since', placeholder: '24h, 7d or 2026-11-20', check: checkTime },
  { id: 'until', label: 'Until', words: 'before', placeholder: '1h or 2026-11-21', check: checkTime },
]

// requestOf is the filter as the hub understands it. Times that are no times
// are left out; what is shown says so.
export function requestOf(values: FilterValues, now: number): MessageInitShape<typeof ListAuditRequestSchema> {
  return {
    actor: values['actor'] ?? '',
    action: values['verb'] ?? '',
    object: values['object'] ?? '',
    cluster: values['cluster'] ?? '',
    result: values['result'] ?? '',
    since: sinceMicros(values['from'] ?? '', now) ?? 0n,
    until: sinceMicros(values['until'] ?? '', now) ?? 0n,
  }
}
