import { useMemo } from 'react'
import { DashboardList } from './DashboardList'
import { InRange } from './InRange'
import styles from './Metrics.module.css'
import { Panels } from './Panels'
import { useDeployments } from './useDeployments'
import { useRange } from './useRange'
import { useCall } from '#/api/call'
import { type Service, Services } from '#/api/gen/hub/v1/hub_pb'
import { TimeRange } from '#/ds/chart/TimeRange'
import { resourceOf } from '#/pages/k8s/kube/kinds'

const kinds = new Set(['Deployment', 'StatefulSet', 'DaemonSet', 'Job', 'CronJob', 'ReplicaSet'])

// ServiceMetrics are the graphs of a service's workloads, and the dashboards that it may have brought.
export function ServiceMetrics({ service }: { service: Service }) {
  const range = useRange('1h')
  const whole = useCall(Services.method.get, { ref: { cluster: service.cluster, name: service.name } })
  const logged = useMemo(
    () => (whole.data?.components ?? []).filter((c) => kinds.has(c.kind) && c.namespace === service.namespace).map((c) => ({ gvr: resourceOf(c.group ? `${c.group}/${c.version}` : c.version, c.kind), namespace: c.namespace, name: c.name })),
    [whole.data, service.namespace],
  )
  const workloads = useMemo(() => logged.map((l) => l.name), [logged])
  const deployments = useDeployments(service.cluster, service.name, range)
  return (
    <div className={styles.page}>
      <TimeRange value={range.text} onChange={range.choose} onRefresh={range.refresh} />
      <InRange cluster={service.cluster} logged={logged} deployments={deployments} range={range} />
      {whole.data && <Panels cluster={service.cluster} level="service" namespace={service.namespace} name={service.name} workloads={workloads} range={range} markers={deployments.markers} />}
      <DashboardList cluster={service.cluster} namespace={service.namespace} />
    </div>
  )
}
