import { useMemo } from 'react'
import type { ClusterRow } from '#/api/gen/hub/v1/fleet_pb'
import { type Field, type Filter, allows } from '#/grid/filter'

export const clusterFields: readonly Field[] = [
  { id: 'verdict', label: 'Status', status: true, main: true, says: 'are' },
  { id: 'freshness', label: 'Freshness', status: true, says: 'are' },
  { id: 'tunnel', label: 'Tunnel', status: true },
  { id: 'project', label: 'Project' },
  { id: 'tag', label: 'Tag' },
  { id: 'kubernetes_version', label: 'Kubernetes', main: true },
  { id: 'agent_version', label: 'Agent', main: true },
  { id: 'distro', label: 'Distribution', main: true },
  { id: 'managed_by_tool', label: 'Managed by' },
]

// clusterFilter is the filter as the hub takes it.
export function clusterFilter(f: Filter) {
  const of = (id: string) => [...(f.values[id] ?? [])]
  return {
    text: f.text,
    verdict: of('verdict'),
    freshness: of('freshness'),
    tunnel: of('tunnel'),
    project: of('project'),
    tag: of('tag'),
    kubernetesVersion: of('kubernetes_version'),
    agentVersion: of('agent_version'),
    distro: of('distro'),
    managedByTool: of('managed_by_tool'),
  }
}

// useStillMatches tells whether a row that changed since it was read still
// passes the filter, as far as the row tells.
export function useStillMatches(f: Filter): (row: ClusterRow) => boolean {
  return useMemo(
    () => (row) =>
      (allows(f.values['verdict'], row.verdict) || (f.values['verdict']?.includes('NeedsYou') ?? false)) &&
      allows(f.values['freshness'], row.cluster?.freshness ?? '') &&
      allows(f.values['tunnel'], row.cluster?.tunnel ?? '') &&
      allows(f.values['kubernetes_version'], row.cluster?.kubernetesVersion ?? '') &&
      allows(f.values['agent_version'], row.cluster?.agentVersion ?? ''),
    [f],
  )
}
