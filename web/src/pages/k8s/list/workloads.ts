import { type GVR, parseGVR } from '../kube/gvr'
import { type TableColumn, type TableRow, cellOf } from '../kube/table'
import { readyOf, stateOf } from '../kube/words'

// Workloads are one list over several kinds: what runs, each with the same few
// facts. What another workload made is not repeated: Pods and Jobs with an owner.

export interface Workload {
  id: string
  kind: string
  gvr: GVR
  row: TableRow
  ready: string
  // The console's word, and what Kubernetes calls it.
  word: string
  state: string
  detail: string
}

export const workloadKinds: { kind: string; gvr: GVR }[] = [
  ['Deployment', 'deployments.v1.apps'],
  ['StatefulSet', 'statefulsets.v1.apps'],
  ['DaemonSet', 'daemonsets.v1.apps'],
  ['CronJob', 'cronjobs.v1.batch'],
  ['Job', 'jobs.v1.batch'],
  ['Pod', 'pods.v1'],
].map(([kind, text]) => ({ kind: kind!, gvr: parseGVR(text!)! }))

export function workloadOf(kind: string, gvr: GVR, columns: TableColumn[], row: TableRow): Workload | undefined {
  if ((kind === 'Pod' || kind === 'Job') && row.meta.ownerReferences?.length) return undefined
  const of = (name: string) => cellOf(columns, row, name)
  const base = { id: `${kind} ${row.id}`, kind, gvr, row }
  switch (kind) {
    case 'Pod': {
      const state = of('Status')
      return { ...base, ready: of('Ready'), state, word: stateOf(state), detail: restarts(of('Restarts')) }
    }
    case 'Job': {
      const state = of('Status') || (readyOf(of('Completions'))?.ready === readyOf(of('Completions'))?.wanted ? 'Complete' : 'Running')
      return { ...base, ready: of('Completions'), state, word: state === 'Running' ? 'Progressing' : stateOf(state), detail: of('Duration') && `took ${of('Duration')}` }
    }
    case 'CronJob': {
      const suspended = of('Suspend').toLowerCase() === 'true'
      return { ...base, ready: `${of('Active') || 0} active`, state: suspended ? 'Suspended' : 'Scheduled', word: suspended ? 'Suspended' : 'Healthy', detail: of('Schedule') }
    }
    default: {
      const ready = kind === 'DaemonSet' ? `${of('Ready') || 0}/${of('Desired') || 0}` : of('Ready')
      const n = readyOf(ready)
      const up = of('Up-to-date')
      const lags = up !== '' && n !== undefined && Number(up) < n.wanted
      if (n?.wanted === 0) return { ...base, ready, state: kind === 'DaemonSet' ? 'No node matches' : 'Scaled to 0', word: 'Paused', detail: '' }
      if (n && n.ready >= n.wanted && !lags) return { ...base, ready, state: 'Ready', word: 'Healthy', detail: '' }
      return { ...base, ready, state: lags ? 'Updating' : 'Not ready', word: lags ? 'Progressing' : 'Degraded', detail: lags ? `${up} of ${n?.wanted} updated` : '' }
    }
  }
}

function restarts(text: string): string {
  const n = Number.parseInt(text, 10)
  return n > 0 ? `${text} restarts`.replace(/^1 restarts/, '1 restart').replace(/^(\d+) (\(.*\)) restarts$/, '$1 restarts $2') : ''
}

const severity = ['Failed', 'Degraded', 'Progressing', 'Unknown', 'Healthy', 'Paused', 'Suspended']

export function bySeverity(a: Workload, b: Workload): number {
  return severity.indexOf(a.word) - severity.indexOf(b.word)
}

const names = new Intl.Collator('en', { numeric: true })

// compareWorkloads orders by a column; without one the worst come first.
export function compareWorkloads(sort: string): (a: Workload, b: Workload) => number {
  const way = sort.startsWith('-') ? -1 : 1
  const byName = (a: Workload, b: Workload) => names.compare(a.row.meta.namespace ?? '', b.row.meta.namespace ?? '') || names.compare(a.row.meta.name, b.row.meta.name)
  const by: Record<string, (a: Workload, b: Workload) => number> = {
    Status: bySeverity,
    Kind: (a, b) => names.compare(a.kind, b.kind),
    Name: (a, b) => names.compare(a.row.meta.name, b.row.meta.name),
    Namespace: byName,
    Age: (a, b) => Date.parse(b.row.meta.creationTimestamp ?? '') - Date.parse(a.row.meta.creationTimestamp ?? ''),
  }
  const first = by[sort.replace(/^-/, '')]
  return (a, b) => (first ? way * first(a, b) : bySeverity(a, b)) || byName(a, b)
}
