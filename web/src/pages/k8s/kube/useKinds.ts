import { useQuery } from '@tanstack/react-query'
import { getObject, objectsOf } from './calls'
import type { GVR } from './gvr'
import { type Kind, builtin, customKinds, kindOf } from './kinds'
import { decode } from './object'
import { parseTable } from './table'
import { unary } from '#/api/call'
import { ClusterAPI } from '#/api/gen/hub/v1/proxy_pb'

const definitions: GVR = { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' }
const apiServices: GVR = { group: 'apiregistration.k8s.io', version: 'v1', resource: 'apiservices' }

interface APIService {
  spec?: { group?: string; version?: string; versionPriority?: number }
}

// Definitions carry schemas of megabytes, so their names are read as a Table,
// and the served versions from APIServices, which are small.
export function useCustomKinds(cluster: string) {
  return useQuery({
    queryKey: ['k8s', cluster, 'custom kinds'],
    staleTime: 60_000,
    queryFn: async ({ signal }) => {
      const names: string[] = []
      let more = ''
      do {
        const page = await unary(ClusterAPI.method.listObjects, { objects: objectsOf({ cluster, gvr: definitions }), limit: 500n, continue: more, table: true }, signal)
        const table = parseTable(page.json)
        names.push(...table.rows.map((r) => r.meta.name))
        more = table.more
      } while (more && names.length < 5_000)
      const services = await unary(ClusterAPI.method.listObjects, { objects: objectsOf({ cluster, gvr: apiServices }), limit: 2_000n }, signal)
      const items = decode<{ items?: APIService[] }>(services.json).items ?? []
      return customKinds(
        names,
        items.map((s) => ({ group: s.spec?.group ?? '', version: s.spec?.version ?? '', priority: s.spec?.versionPriority ?? 0 })),
      )
    },
  })
}

// useKind completes what is known of a kind: for a custom one its definition says
// what it is called and whether it has namespaces.
export function useKind(cluster: string, gvr: GVR): Kind {
  const known = builtin(gvr)
  const { data } = useQuery({
    queryKey: ['k8s', cluster, 'definition', gvr.group, gvr.resource],
    enabled: !known && gvr.group !== '',
    staleTime: 5 * 60_000,
    queryFn: async ({ signal }) => {
      const { spec } = await getObject({ cluster, gvr: definitions }, `${gvr.resource}.${gvr.group}`, signal)
      return { kind: String(spec?.names?.kind ?? gvr.resource), namespaced: spec?.scope !== 'Cluster' }
    },
  })
  return known ?? { ...kindOf(gvr), ...data }
}
