import { useCall } from '#/api/call'
import { ClusterAlerts } from '#/api/gen/hub/v1/alerts_pb'
import type { Service } from '#/api/gen/hub/v1/hub_pb'
import { AlertsPanel } from '#/pages/clusters/Alerts'

// ServiceAlerts are the alerts of the namespace of a service, when one fires.
export function ServiceAlerts({ service: { cluster, namespace } }: { service: Pick<Service, 'cluster' | 'namespace'> }) {
  const { data } = useCall(ClusterAlerts.method.list, { cluster, namespace }, { staleTime: 30_000, refetchInterval: 30_000, retry: false })
  if (!data || data.alerts.length === 0) return null
  return <AlertsPanel cluster={cluster} namespace={namespace} tunnel="Up" />
}
