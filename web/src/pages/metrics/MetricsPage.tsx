import { DashboardList } from './DashboardList'
import styles from './Metrics.module.css'
import { Panels } from './Panels'
import { useRange } from './useRange'
import { TimeRange } from '#/ds/chart/TimeRange'
import { useCluster } from '#/pages/clusters/useCluster'
import { LiveGate } from '#/pages/k8s/kube/LiveGate'

// Page has the graphs of a cluster as a whole, and the dashboards in it.
export function Page() {
  const { data: cluster } = useCluster()
  return cluster ? (
    <LiveGate>
      <Cluster name={cluster.name} />
    </LiveGate>
  ) : null
}

function Cluster({ name }: { name: string }) {
  const range = useRange('1h')
  return (
    <div className={styles.page}>
      <h2>Metrics</h2>
      <TimeRange value={range.text} onChange={range.choose} onRefresh={range.refresh} />
      <Panels cluster={name} level="cluster" range={range} />
      <DashboardList cluster={name} />
    </div>
  )
}
