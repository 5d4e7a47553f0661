import type { GlobalService, GlobalServiceSettings, GlobalServiceState, RolloutPlan } from '#/api/gen/hub/v1/globals_pb'
import { spanOf } from '#/status/age'
import { count, many } from '#/ds/Text'

type Selects = Pick<GlobalServiceSettings, 'project' | 'tags' | 'distro'> & { mgmt?: boolean | undefined; ignoreClusters?: string[] }

// selectionOf says which clusters are selected.
export function selectionOf(s: Selects | undefined): string {
  if (!s) return ''
  const parts = [
    s.project && `project ${s.project}`,
    ...Object.entries(s.tags).toSorted().map(([k, v]) => `tag ${k}=${v}`),
    s.distro && `distribution ${s.distro}`,
    s.mgmt === false && "not the hub's own",
    s.ignoreClusters?.length && `not ${s.ignoreClusters.join(', ')}`,
  ].filter(Boolean)
  return parts.length ? `clusters with ${parts.join(', ')}` : 'all clusters'
}

export function planOf(plan: RolloutPlan | undefined): string {
  if (!plan) return 'all clusters at once'
  const soak = spanOf(Number(plan.soakMicros) / 1_000 || 15 * 60_000)
  return `waves ${plan.waves.join(', ') || '100%'}; each is healthy for ${soak} before the next; stops when more than ${plan.failPercent || 5} % of a wave fail`
}

// stateOf is the worst of its services in a word, and what to say about them.
export function stateOf(state: GlobalServiceState | undefined): { word: string; text: string } {
  if (!state) return { word: 'Unknown', text: '' }
  const text = `${state.ready} of ${many(state.services, 'cluster')} ready`
  if (state.failing > 0) return { word: 'Failed', text: `${text}, ${state.failing} could not get it` }
  if (state.services === 0) return { word: 'Pending', text: 'no cluster is selected' }
  const of = (m: { [k: string]: number }, ...keys: string[]) => keys.reduce((n, k) => n + (m[k] ?? 0), 0)
  if (of(state.sync, 'Failed', 'Held') || of(state.health, 'Degraded')) return { word: 'Failed', text }
  if (state.ready === state.services) return { word: 'Healthy', text }
  return { word: 'Progressing', text }
}

// reachText adds how many clusters were given a change that is not everywhere: the others
// are ready with the former template.
export function reachText(text: string, phase: string, has: number): string {
  if (phase === '' || phase === 'Done' || phase === 'Superseded') return text
  return `${text}, change given to ${has === 0 ? 'none' : count(has)}`
}

// rolloutOf is how far the last change of a global service is.
export function rolloutOf(g: Pick<GlobalService, 'deleting' | 'rollingOut' | 'rolloutWaits'>): { word: string; label?: string } {
  if (g.deleting) return { word: 'Aborting', label: 'Being deleted' }
  if (!g.rollingOut) return { word: 'Done', label: 'Everywhere' }
  return g.rolloutWaits ? { word: g.rolloutWaits } : { word: 'Progressing', label: 'Rolling out' }
}

// byUrgency is the order of a list: what stopped, what is paused, what rolls out, the rest.
export function byUrgency(a: GlobalService, b: GlobalService): number {
  const rank = (g: GlobalService) => (g.rollingOut ? 1 + ['', 'Paused', 'Stopped'].indexOf(g.rolloutWaits) : 0)
  return rank(b) - rank(a) || a.name.localeCompare(b.name)
}

// deleteText is what happens to the services of a global service, or to so many.
export function deleteText(cascade: string, services?: number): string {
  const one = services === 1
  const its = services === undefined ? 'Its services' : `Its ${many(services, 'service')}`
  if (cascade === 'delete') return `${its} ${one ? 'is' : 'are'} deleted with all objects on the clusters.`
  if (cascade === 'detach') return `${its} ${one ? 'leaves' : 'leave'} the hub; the objects stay on the clusters and are no longer watched.`
  return `${its} ${one ? 'stays' : 'stay'} without an owner; nothing changes on the clusters.`
}
