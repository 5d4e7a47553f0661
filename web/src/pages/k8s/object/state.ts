import { type KubeObject, conditionsOf } from '../kube/object'
import { stateOf } from '../kube/words'

export interface ObjectState {
  // The console's word, and what is shown for it.
  word: string
  label: string
  title: string
}

export interface ContainerStatus {
  name: string
  ready?: boolean
  restartCount?: number
  state?: Record<string, { reason?: string; message?: string; exitCode?: number; startedAt?: string; finishedAt?: string; signal?: number }>
  lastState?: ContainerStatus['state']
}

export function containerStatuses(pod: KubeObject): ContainerStatus[] {
  const s = pod['status'] ?? {}
  return [...(s.initContainerStatuses ?? []), ...(s.containerStatuses ?? []), ...(s.ephemeralContainerStatuses ?? [])] as ContainerStatus[]
}

export function containerStatus(pod: KubeObject, container: string): ContainerStatus | undefined {
  return containerStatuses(pod).find((c) => c.name === container)
}

// podState is what kubectl calls a pod's status.
export function podState(pod: KubeObject): string {
  if (pod.metadata.deletionTimestamp) return 'Terminating'
  const { reason, phase = 'Unknown' } = pod['status'] ?? {}
  for (const c of containerStatuses(pod)) {
    const waiting = c.state?.['waiting']?.reason
    if (waiting && waiting !== 'PodInitializing' && waiting !== 'ContainerCreating') return waiting
    const ended = c.state?.['terminated']
    if (ended && ended.exitCode !== 0) return ended.reason ?? `ExitCode:${ended.exitCode}`
  }
  const waiting = containerStatuses(pod).find((c) => c.state?.['waiting'])?.state?.['waiting']?.reason
  return String(reason ?? (phase === 'Pending' && waiting ? waiting : phase))
}

// statusOf is the state of any object: of a pod as kubectl has it, of a workload
// by its replicas, otherwise by the conditions Ready, Available or Established.
export function statusOf(o: KubeObject): ObjectState | undefined {
  const s = o['status'] ?? {}
  const spec = o['spec'] ?? {}
  if (o.kind === 'Pod') {
    const state = podState(o)
    const unready = state === 'Running' && conditionsOf(o).some((c) => c.type === 'Ready' && c.status !== 'True')
    return { word: unready ? 'Degraded' : stateOf(state), label: unready ? 'Not ready' : state, title: String(s.message ?? state) }
  }
  if (['Deployment', 'StatefulSet', 'ReplicaSet', 'DaemonSet'].includes(o.kind)) {
    const wanted = Number(o.kind === 'DaemonSet' ? (s.desiredNumberScheduled ?? 0) : (spec.replicas ?? 1))
    const ready = Number(o.kind === 'DaemonSet' ? (s.numberReady ?? 0) : (s.readyReplicas ?? 0))
    const title = `${ready} of ${wanted} ready`
    if (wanted === 0) return { word: 'Paused', label: 'Scaled to 0', title }
    if (conditionsOf(o).some((c) => c.reason === 'ProgressDeadlineExceeded')) return { word: 'Failed', label: 'Rollout failed', title }
    const updated = Number(o.kind === 'DaemonSet' ? (s.updatedNumberScheduled ?? 0) : (s.updatedReplicas ?? (o.kind === 'ReplicaSet' ? wanted : 0)))
    if (updated < wanted || Number(s.observedGeneration ?? 0) < Number(o.metadata.generation ?? 0)) return { word: 'Progressing', label: `Updating, ${title}`, title }
    return ready >= wanted ? { word: 'Healthy', label: title, title } : { word: 'Degraded', label: title, title }
  }
  if (o.kind === 'Node') {
    const ready = conditionsOf(o).find((c) => c.type === 'Ready')?.status === 'True'
    const cordoned = spec.unschedulable === true
    return { word: ready ? (cordoned ? 'Paused' : 'Healthy') : 'Failed', label: `${ready ? 'Ready' : 'Not ready'}${cordoned ? ', cordoned' : ''}`, title: '' }
  }
  if (typeof s.phase === 'string') return { word: stateOf(s.phase), label: s.phase, title: String(s.message ?? s.phase) }
  const known = conditionsOf(o).find((c) => ['Ready', 'Available', 'Established', 'Complete', 'Failed', 'Healthy'].includes(c.type))
  if (!known) return undefined
  const bad = known.type === 'Failed' ? known.status === 'True' : known.status === 'False'
  return { word: bad ? 'Failed' : known.status === 'True' ? 'Healthy' : 'Progressing', label: bad && known.type !== 'Failed' ? `Not ${known.type.toLowerCase()}` : known.type, title: known.message ?? known.reason ?? known.type }
}

// endOf says how a run of a container ended; nothing for one that has not.
export function endOf(s: ContainerStatus['state']): string | undefined {
  const ended = s?.['terminated']
  return ended && `${ended.reason ?? 'ended'}, exit code ${ended.exitCode ?? '?'}${ended.message ? `: ${ended.message}` : ''}`
}

// whyEmpty says why a container has no log, or undefined when it has run.
export function whyEmpty(pod: KubeObject, container: string, previous: boolean): string | undefined {
  const status = containerStatus(pod, container)
  if (!status) {
    const scheduled = conditionsOf(pod).find((c) => c.type === 'PodScheduled')
    if (scheduled?.status === 'False') return `${container} never started: the pod is on no node. ${scheduled.message ?? ''}`.trim()
    return `${container} has not started: the node has not reported about it yet.`
  }
  if (previous) {
    if (!status.restartCount) return `${container} has no previous run: it never restarted.`
    return `The previous run of ${container} wrote nothing before it ended (${endOf(status.lastState) || 'its end is not recorded'}).`
  }
  const waiting = status.state?.['waiting']
  if (waiting) {
    const last = endOf(status.lastState)
    return `${container} ${last ? 'is not running' : 'never started'}: ${waiting.reason ?? 'waiting'}${waiting.message ? `. ${waiting.message}` : ''}${last ? ` Its last run ended with ${last}; press Previous for its log.` : ''}`
  }
  const over = endOf(status.state)
  if (over) return `${container} ended (${over}) and wrote nothing.`
  return `${container} runs and has written nothing in this range.`
}
