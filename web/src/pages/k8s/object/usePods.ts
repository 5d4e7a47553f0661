import { useQuery } from '@tanstack/react-query'
import { type Place, listObjects } from '../kube/calls'
import { type KubeObject, podSelector } from '../kube/object'

const pods = { group: '', version: 'v1', resource: 'pods' }
const jobs = { group: 'batch', version: 'v1', resource: 'jobs' }

function newest(items: KubeObject[]): KubeObject[] {
  return items.toSorted((a, b) => Date.parse(b.metadata.creationTimestamp ?? '') - Date.parse(a.metadata.creationTimestamp ?? ''))
}

async function selectorOf(place: Place, object: KubeObject, signal: AbortSignal): Promise<string> {
  if (object.kind !== 'CronJob') return podSelector(object)
  const { items } = await listObjects({ ...place, gvr: jobs }, { limit: 500 }, signal)
  const [last] = newest(items.filter((j) => j.metadata.ownerReferences?.some((o) => o.uid === object.metadata.uid)))
  return last ? podSelector(last) : ''
}

// usePods are the pods of a workload, the newest first; of a pod itself, it.
export function usePods(place: Place, object: KubeObject, limit = 100) {
  const own = object.kind === 'Pod'
  const query = useQuery({
    queryKey: ['k8s', place.cluster, 'pods of', object.metadata.uid, podSelector(object)],
    enabled: !own,
    staleTime: 2_000,
    refetchInterval: 10_000,
    queryFn: async ({ signal }) => {
      const labelSelector = await selectorOf(place, object, signal)
      if (!labelSelector) return { items: [], more: '' }
      const list = await listObjects({ cluster: place.cluster, gvr: pods, namespace: place.namespace }, { labelSelector, limit }, signal)
      return { items: newest(list.items), more: list.more }
    },
  })
  return own ? { pods: [object], more: false, error: null, loading: false, refetch: query.refetch } : { pods: query.data?.items ?? [], more: Boolean(query.data?.more), error: query.data ? null : query.error, loading: query.isLoading, refetch: query.refetch }
}

export function containersOf(pod: KubeObject): string[] {
  const spec = pod['spec'] ?? {}
  return [...(spec.initContainers ?? []), ...(spec.containers ?? []), ...(spec.ephemeralContainers ?? [])].map((c: { name: string }) => c.name)
}

// defaultContainer is the one that kubectl takes.
export function defaultContainer(pod: KubeObject): string {
  const named = pod.metadata.annotations?.['kubectl.kubernetes.io/default-container']
  const main = (pod['spec']?.containers ?? []) as { name: string }[]
  return main.find((c) => c.name === named)?.name ?? main[0]?.name ?? ''
}
