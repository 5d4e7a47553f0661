import type { Cluster, MadeCondition, MadeMachines, MadeState } from '#/api/gen/hub/v1/hub_pb'
import { words } from '#/api/rules'

type Made = Pick<Cluster, 'registered' | 'pending' | 'origin'>

// madeWord is how far a cluster from a template is, in Cluster API's words, until its agent is there and when it goes;
// undefined for every other cluster.
export function madeWord(c: Made | undefined): string | undefined {
  if (!c?.origin) return undefined
  if (c.origin.destroying) return 'Destroying'
  return c.registered || c.pending ? undefined : c.origin.state?.phase || 'Provisioning'
}

// wordOfPhase is the status word of a phase; what it is called stays Cluster API's word.
export function wordOfPhase(phase: string): string {
  switch (phase) {
    case 'Running': // of machines: they are there
      return 'Good'
    case 'Pending':
      return 'Waiting'
    default:
      return phase
  }
}

const usuallyFalse = new Set<string>(words.usuallyFalse)

// wordOfCondition is the status word of a condition: Good where it is as it is to be.
export function wordOfCondition({ type, status }: Pick<MadeCondition, 'type' | 'status'>): string {
  if (status !== 'True' && status !== 'False') return 'Unknown'
  const goesOn = usuallyFalse.has(type)
  if ((status === 'True') !== goesOn) return 'Good'
  return type === 'Paused' ? 'Paused' : goesOn ? 'Progressing' : 'Degraded'
}

// conditionsOf are the conditions, first those that are not as they are to be.
export function conditionsOf(state: Pick<MadeState, 'conditions'> | undefined): MadeCondition[] {
  const good = (c: MadeCondition) => Number(wordOfCondition(c) === 'Good')
  return (state?.conditions ?? []).toSorted((a, b) => good(a) - good(b))
}

export interface Group extends Pick<MadeMachines, 'phase' | 'desired' | 'ready' | 'upToDate' | 'versions'> {
  name: string
  // The control plane of a provider has no machines of its own.
  machines: boolean
}

// groupsOf are the control plane and the pools of a cluster.
export function groupsOf(state: Pick<MadeState, 'controlPlane' | 'pools'> | undefined): Group[] {
  const group = (m: MadeMachines, name: string, pool: boolean): Group => ({ ...m, name, machines: pool || m.desired + m.ready + m.upToDate > 0 || m.versions.length > 0 })
  return [...(state?.controlPlane ? [group(state.controlPlane, 'Control plane', false)] : []), ...(state?.pools ?? []).map((m) => group(m, m.name, true))]
}
