import styles from './Metrics.module.css'
import { Panels } from './Panels'
import { useRange } from './useRange'
import { TimeRange } from '#/ds/chart/TimeRange'
import type { Place } from '#/pages/k8s/kube/calls'

// ObjectMetrics are the graphs of a pod, a workload or a Service.
export function ObjectMetrics({ place, name }: { place: Place; name: string }) {
  const range = useRange('1h')
  const level = place.gvr.resource === 'pods' ? 'pod' : place.gvr.resource === 'services' ? 'service' : 'workload'
  return (
    <div className={styles.page}>
      <TimeRange value={range.text} onChange={range.choose} onRefresh={range.refresh} />
      <Panels cluster={place.cluster} level={level} namespace={place.namespace ?? ''} name={name} range={range} />
    </div>
  )
}
