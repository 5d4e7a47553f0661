import type { Place } from '../kube/calls'
import type { KubeObject } from '../kube/object'
import { LastLines } from '../logs/LastLines'
import { maxShown, speakers } from '../logs/failing'
import { statusOf } from './state'
import { usePods } from './usePods'

// PodsLastLines are the last lines of what fails of a pod, or of the pods of a workload. It shows
// nothing while nothing fails.
export function PodsLastLines({ place, object }: { place: Place; object: KubeObject }) {
  const { pods } = usePods(place, object)
  const failing = speakers(pods.map((pod) => ({ object: pod, degraded: statusOf(pod)?.word === 'Degraded' })))
  return <LastLines cluster={place.cluster} pods={failing.slice(0, maxShown)} left={Math.max(0, failing.length - maxShown)} where="the tab Related" />
}
