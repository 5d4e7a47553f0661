import { useCall } from '#/api/call'
import { Fleet } from '#/api/gen/hub/v1/fleet_pb'
import type { ServiceRow } from '#/api/gen/hub/v1/fleet_pb'

// useService finds the service of an object by the id that its marks have.
export function useService(cluster: string, id: string | undefined): ServiceRow | undefined {
  const { data } = useCall(Fleet.method.queryServices, { filter: { cluster: [cluster] }, sort: 'name', limit: 500 }, { enabled: id !== undefined, staleTime: 60_000 })
  return data?.rows.find((r) => r.id === id)
}

export function servicePath(cluster: string, name: string): string {
  return `/services/${encodeURIComponent(cluster)}/${encodeURIComponent(name)}`
}
