import type { KubeObject } from '../kube/object'
import { containerStatus } from '../object/state'
import { containersOf, defaultContainer } from '../object/usePods'

// So long a container has run when the kubelet forgets its crashes: it restarts the next time without a wait. The start is by
// the node's clock, now by the browser's.
const steadyAfter = 10 * 60_000

export function runs(pod: KubeObject, container: string): boolean {
  return containerStatus(pod, container)?.state?.['running'] !== undefined
}

// shellIn is the container that a shell is offered in: kubectl's, unless it does not run or restarts again and again, in which
// case a shell would end with it in a moment, and the choice would change between a look and a key. Then another one may do: a
// main one before a sidecar, which is an init container and would come first.
export function shellIn(pod: KubeObject, now = Date.now()): string {
  const first = defaultContainer(pod)
  const main = ((pod['spec']?.containers ?? []) as { name: string }[]).map((c) => c.name)
  const running = [first, ...main, ...containersOf(pod)].filter((c) => runs(pod, c))
  return running.find((c) => steady(pod, c, now)) ?? running[0] ?? first
}

function steady(pod: KubeObject, container: string, now: number): boolean {
  const status = containerStatus(pod, container)
  const since = Date.parse(status?.state?.['running']?.startedAt ?? '')
  return (status?.restartCount ?? 0) < 2 || now - since >= steadyAfter
}
