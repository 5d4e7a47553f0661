import { fromJson, type JsonObject } from '@bufbuild/protobuf'
import { useQuery } from '@tanstack/react-query'
import { type DashboardSettings, DashboardSettingsSchema } from '#/api/gen/hub/v1/dashboards_pb'
import { getObject, listObjects } from '#/pages/k8s/kube/calls'
import type { KubeObject } from '#/pages/k8s/kube/object'

const gvr = { group: 'platform.plural.sh', version: 'v1alpha1', resource: 'dashboards' }
const most = 200

export interface Dashboard {
  namespace: string
  name: string
  settings: DashboardSettings
}

// dashboardOf reads an object; what an older or newer version has beside is left out.
export function dashboardOf(object: KubeObject): Dashboard {
  const spec = ((object as { spec?: unknown }).spec ?? {}) as JsonObject
  return { namespace: object.metadata.namespace ?? '', name: object.metadata.name ?? '', settings: fromJson(DashboardSettingsSchema, spec, { ignoreUnknownFields: true }) }
}

// useDashboards are those of a cluster, or of a namespace of it, read with the person's rights there.
export function useDashboards(cluster: string, namespace = '', enabled = true) {
  return useQuery({
    queryKey: ['k8s', cluster, 'dashboards', namespace],
    enabled,
    staleTime: 30_000,
    queryFn: async ({ signal }) => {
      const { items, more } = await listObjects({ cluster, gvr, namespace }, { limit: most }, signal)
      return { all: items.map(entryOf).toSorted((a, b) => a.title.localeCompare(b.title)), more: more !== '' }
    },
  })
}

export interface Entry {
  namespace: string
  name: string
  title: string
  description: string
  graphs: number
}

const text = (v: unknown) => (typeof v === 'string' ? v : '')

function entryOf(o: KubeObject): Entry {
  const spec = ((o as { spec?: Record<string, unknown> }).spec ?? {}) as Record<string, unknown>
  const graphs = spec['graphs']
  return { namespace: o.metadata.namespace ?? '', name: o.metadata.name ?? '', title: text(spec['name']) || (o.metadata.name ?? ''), description: text(spec['description']), graphs: Array.isArray(graphs) ? graphs.length : 0 }
}

export function useDashboard(cluster: string, namespace: string, name: string) {
  return useQuery({
    queryKey: ['k8s', cluster, 'dashboard', namespace, name],
    staleTime: 30_000,
    queryFn: async ({ signal }) => dashboardOf(await getObject({ cluster, gvr, namespace }, name, signal)),
  })
}

const part = encodeURIComponent

export function dashboardPath(cluster: string, namespace: string, name: string): string {
  return `/clusters/${part(cluster)}/dashboards/${part(namespace)}/${part(name)}`
}
