import { rangeOf } from './around'
import { sliceOf } from '#/ds/chart/range'
import type { LogRequest } from './useLog'

// What a search of a store asks for, as it stands in the address: the same address shows the same
// lines to everybody who may read them.
export interface StoreQuery {
  source: string
  // namespace/name of a LogFilter; then neither query nor namespace.
  filter: string
  namespace: string
  kind: string
  name: string
  pod: string
  container: string
  text: string
  regex: string
  not: string
  query: string
  around: string
  limit: string
  follow: string
  // A range that ends now, or from and to.
  last: string
  from: string
  to: string
}

export const fields: (keyof StoreQuery)[] = ['source', 'filter', 'namespace', 'kind', 'name', 'pod', 'container', 'text', 'regex', 'not', 'query', 'around', 'limit', 'follow', 'last', 'from', 'to']

export const usualLast = '1h'
const usualLimit = 1_000

const literally = (text: string) => text.replaceAll(/[\\.+*?()|[\]{}^$]/g, '\\$&')

// matchOf is RE2 for what a person typed: text as it is, or an expression. Without a capital, case
// does not count, as in the log of a workload.
function matchOf(text: string, regex: boolean): string {
  if (!text) return ''
  return `${/[A-Z]/.test(text) ? '' : '(?i)'}${regex ? text : literally(text)}`
}

// requestOf is a query for the hub, at a time in milliseconds.
export function requestOf(cluster: string, q: StoreQuery, now: number): LogRequest {
  const many = Number(q.around) || 0
  const [filterNamespace = '', filterName = ''] = q.filter.split('/')
  const where = filterName ? { kind: 'LogFilter', namespace: filterNamespace, name: filterName } : q.kind && q.name ? { namespace: q.namespace, kind: q.kind, name: q.name } : { namespace: q.namespace }
  const follow = q.follow === '1'
  const fixed = rangeOf(q.from, q.to)
  const seconds = sliceOf(q.last) ?? sliceOf(usualLast)!
  return {
    cluster,
    ...where,
    pods: q.pod ? [q.pod] : [],
    containers: q.container ? [q.container] : [],
    match: matchOf(q.text, q.regex === '1'),
    exclude: matchOf(q.not, q.regex === '1'),
    before: many,
    after: many,
    tailLines: BigInt(Number(q.limit) || usualLimit),
    follow: follow && !fixed,
    ...(fixed ?? { since: BigInt(now - seconds * 1_000) * 1_000n }),
    store: { name: q.source, query: filterName ? '' : q.query },
  }
}
