import { useMemo } from 'react'
import type { ServiceRow } from '#/api/gen/hub/v1/fleet_pb'
import { type Field, type Filter, allows } from '#/grid/filter'

export const serviceFields: readonly Field[] = [
  { id: 'verdict', label: 'Status', status: true, main: true, says: 'are' },
  { id: 'sync', label: 'Sync', status: true, says: 'are' },
  { id: 'health', label: 'Health', status: true, says: 'are' },
  { id: 'freshness', label: 'Freshness', status: true, says: 'are' },
  { id: 'cluster', label: 'Cluster', main: true, says: 'of' },
  { id: 'namespace', label: 'Namespace' },
  { id: 'repository', label: 'Repository', main: true },
  { id: 'project', label: 'Project' },
  { id: 'tag', label: 'Cluster tag' },
  { id: 'global_service', label: 'Global service' },
  { id: 'managed_by_tool', label: 'Managed by' },
  { id: 'pinned', label: 'Pinned' },
]

// serviceFilter is the filter as the hub takes it.
export function serviceFilter(f: Filter, cluster?: string) {
  const of = (id: string) => [...(f.values[id] ?? [])]
  const pinned = of('pinned')
  return {
    text: f.text,
    cluster: cluster === undefined ? of('cluster') : [cluster],
    project: of('project'),
    sync: of('sync'),
    health: of('health'),
    freshness: of('freshness'),
    repository: of('repository'),
    namespace: of('namespace'),
    managedByTool: of('managed_by_tool'),
    tag: of('tag'),
    verdict: of('verdict'),
    globalService: of('global_service'),
    ...(pinned.length === 1 ? { pinned: pinned[0] === 'yes' || pinned[0] === 'true' || pinned[0] === '!no' } : {}),
  }
}

export function useStillMatches(f: Filter): (row: ServiceRow) => boolean {
  return useMemo(
    () => (row) =>
      allows(f.values['verdict'], row.verdict) && allows(f.values['sync'], row.sync) && allows(f.values['health'], row.health) && allows(f.values['freshness'], row.freshness) && allows(f.values['repository'], row.repository) && allows(f.values['namespace'], row.namespace),
    [f],
  )
}
