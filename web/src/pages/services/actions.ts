import { CirclePause, CirclePlay, History, RefreshCw } from 'lucide-react'
import type { ServiceRow } from '#/api/gen/hub/v1/fleet_pb'
import type { May } from '#/api/may'
import type { Item } from '#/ds/Menu'
import type { Selection } from '#/grid/select'
import type { serviceFilter } from './filter'
import { serviceHref } from './columns'

// What can be done with one service, or with many at once.
export type Action = 'sync' | 'pause' | 'resume' | 'rollback'

export interface Bulk {
  action: Action
  selection: Selection
  filter: ReturnType<typeof serviceFilter>
  // How many match the filter.
  total: number
}

export const verbs: Record<Action, { label: string; icon: typeof RefreshCw; does: string; reason: boolean }> = {
  sync: { label: 'Sync', icon: RefreshCw, does: 'Agents fetch, render and apply the desired revision at their next poll, which is requested now.', reason: false },
  pause: { label: 'Pause', icon: CirclePause, does: 'Agents apply nothing until somebody resumes: no new revisions, no healing, no pruning.', reason: true },
  resume: { label: 'Resume', icon: CirclePlay, does: 'Ends a pause, and a pin by a rollback: the services follow their sources again.', reason: false },
  rollback: { label: 'Roll back', icon: History, does: 'Each service goes back to its previous revision and is pinned to it: it stops following its source until somebody resumes it.', reason: true },
}

// Above this many services a dry run comes first.
export const dryRunAbove = 20

export function rowActions(row: ServiceRow, may: May, go: (to: string) => void, start: (action: Action) => void): Item[] {
  const not = may.allowed === false ? `You may not: ${may.reason}` : undefined
  const resumable = row.paused || row.pinnedRevision > 0n
  return [
    { id: 'open', label: 'Open', run: () => go(serviceHref(row)) },
    { id: 'cluster', label: `Cluster ${row.cluster}`, run: () => go(`/clusters/${encodeURIComponent(row.cluster)}`) },
    { id: 'sync', label: 'Sync', icon: verbs.sync.icon, apart: true, disabled: not, run: () => start('sync') },
    { id: 'pause', label: 'Pause…', icon: verbs.pause.icon, disabled: not ?? (row.paused ? 'It is paused' : undefined), run: () => start('pause') },
    { id: 'resume', label: 'Resume', icon: verbs.resume.icon, disabled: not ?? (resumable ? undefined : 'It is neither paused nor pinned'), run: () => start('resume') },
    { id: 'rollback', label: 'Roll back…', icon: verbs.rollback.icon, disabled: not, run: () => start('rollback') },
  ]
}
