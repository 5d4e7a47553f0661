import { useQuery } from '@tanstack/react-query'
import { type Place, listObjects } from '../kube/calls'
import { objectPath } from '../kube/gvr'
import { builtinKinds } from '../kube/kinds'
import type { KubeObject } from '../kube/object'

// LogFilters and LogTails that applications brought, read with the person's rights in the cluster.
const most = 200

const gvr = (resource: string) => ({ group: 'platform.plural.sh', version: 'v1alpha1', resource })
const text = (v: unknown) => (typeof v === 'string' ? v : '')
const specOf = (o: KubeObject) => ((o as { spec?: Record<string, unknown> }).spec ?? {}) as Record<string, unknown>

function useSaved<T>(resource: string, cluster: string, namespace: string, of: (o: KubeObject) => T) {
  const { data } = useQuery({
    queryKey: ['k8s', cluster, resource, namespace],
    staleTime: 30_000,
    // A cluster with older manifests of the agent has no such kind: nothing is saved there.
    retry: false,
    queryFn: async ({ signal }) => (await listObjects({ cluster, gvr: gvr(resource), namespace }, { limit: most }, signal)).items,
  })
  return (data ?? []).map(of)
}

export interface SavedFilter {
  // namespace/name, as it stands in an address.
  id: string
  title: string
  description: string
  query: string
}

export function useFilters(cluster: string): SavedFilter[] {
  return useSaved('logfilters', cluster, '', (o) => {
    const spec = specOf(o)
    return { id: `${o.metadata.namespace}/${o.metadata.name}`, title: text(spec['name']) || o.metadata.name, description: text(spec['description']), query: text(spec['query']) }
  })
}

export interface SavedTail {
  namespace: string
  name: string
  // Kind and name of the workload, in the form of the API; empty if its target is none.
  kind: string
  of: string
  href: string
}

// Short names as kubectl has them.
const shorts: Record<string, string> = { deploy: 'deployments', sts: 'statefulsets', ds: 'daemonsets', rs: 'replicasets', rc: 'replicationcontrollers', cj: 'cronjobs', po: 'pods' }

// tailOf is a LogTail as the page that shows what it asks for.
export function tailOf(cluster: string, o: KubeObject): SavedTail {
  const spec = specOf(o)
  const [named = '', of = ''] = text(spec['target']).split('/')
  const word = shorts[named.toLowerCase()] ?? named.toLowerCase()
  const kind = builtinKinds.find((k) => k.area === 'Workloads' && [k.kind.toLowerCase(), k.resource].includes(word))
  const namespace = o.metadata.namespace ?? ''
  const search = new URLSearchParams()
  const limit = Number(spec['limit'] ?? 0)
  if (limit > 0) search.set('since', `n${limit}`)
  if (text(spec['container'])) search.set('c', text(spec['container']))
  if (spec['follow'] !== true) search.set('follow', '0')
  const href = kind && of ? `${objectPath(cluster, kind, namespace, of, 'logs')}?${search.toString()}` : ''
  return { namespace, name: o.metadata.name, kind: kind?.kind ?? '', of, href }
}

export function useTails(cluster: string, namespace = ''): SavedTail[] {
  return useSaved('logtails', cluster, namespace, (o) => tailOf(cluster, o)).filter((t) => t.href)
}

// useTailsOf are the LogTails of one workload.
export function useTailsOf(place: Place, object: KubeObject): SavedTail[] {
  return useTails(place.cluster, place.namespace ?? '').filter((t) => t.kind === object.kind && t.of === object.metadata.name)
}

// storeHref is the search of a store for what the pods of an object wrote, also those that are gone.
export function storeHref(place: Place, object: KubeObject): string {
  // A Service's pods have other names than it.
  const of = object.kind === 'Service' ? '' : `&kind=${object.kind}&name=${encodeURIComponent(object.metadata.name)}`
  return `/clusters/${encodeURIComponent(place.cluster)}/logs?namespace=${encodeURIComponent(place.namespace ?? '')}${of}`
}
