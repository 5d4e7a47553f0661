import styles from './Metrics.module.css'
import { InRange } from './InRange'
import { Panels } from './Panels'
import { useDeployments } from './useDeployments'
import { useRange } from './useRange'
import { TimeRange } from '#/ds/chart/TimeRange'
import type { Place } from '#/pages/k8s/kube/calls'
import type { KubeObject } from '#/pages/k8s/kube/object'
import { serviceOf } from '#/pages/k8s/kube/origin'
import { useService } from '#/pages/k8s/object/useService'

// ObjectMetrics are the graphs of a pod, a workload or a Service.
export function ObjectMetrics({ place, object }: { place: Place; object: KubeObject }) {
  const range = useRange('1h')
  const { name } = object.metadata
  const deployments = useDeployments(place.cluster, useService(place.cluster, serviceOf(object))?.name, range)
  const level = place.gvr.resource === 'pods' ? 'pod' : place.gvr.resource === 'services' ? 'service' : 'workload'
  return (
    <div className={styles.page}>
      <TimeRange value={range.text} onChange={range.choose} onRefresh={range.refresh} />
      <InRange cluster={place.cluster} logged={[{ gvr: place.gvr, namespace: place.namespace ?? '', name }]} deployments={deployments} range={range} />
      <Panels cluster={place.cluster} level={level} namespace={place.namespace ?? ''} name={name} range={range} markers={deployments.markers} />
    </div>
  )
}
