import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { type Entry, dashboardPath, useDashboards } from './dashboards'
import { isCode } from '#/api/errors'
import { Code } from '@connectrpc/connect'
import { Listing, type Col } from '#/ds/Listing'
import { Panel } from '#/ds/Panel'
import { Empty } from '#/ds/State'
import { Muted, many } from '#/ds/Text'

const colsOf = (cluster: string): Col<Entry>[] => [
  { id: 'title', header: 'Dashboard', grow: true, cell: (d) => <Link to={dashboardPath(cluster, d.namespace, d.name) as string}>{d.title}</Link> },
  { id: 'namespace', header: 'Namespace', cell: (d) => d.namespace },
  { id: 'graphs', header: 'Graphs', align: 'end', cell: (d) => d.graphs },
  { id: 'description', header: 'Description', grow: true, cell: (d) => <Muted>{d.description}</Muted> },
]

// DashboardList are the dashboards that applications brought into a cluster.
export function DashboardList({ cluster, namespace }: { cluster: string; namespace?: string }) {
  const { data, error, refetch } = useDashboards(cluster, namespace)
  // A cluster with older manifests of the agent has no such kind: there are none.
  const unknown = error !== null && isCode(error, Code.NotFound)
  const cols = useMemo(() => colsOf(cluster), [cluster])
  return (
    <Panel title="Dashboards" flush aside={data && data.all.length > 0 ? many(data.all.length, 'dashboard') : undefined}>
      <Listing
        label="Dashboards"
        cols={cols}
        rows={unknown ? [] : data?.all}
        idOf={(d) => `${d.namespace}/${d.name}`}
        error={unknown ? undefined : error}
        retry={() => void refetch()}
        empty={<Empty title={`No dashboards in ${namespace || 'this cluster'}`}>An application brings a Dashboard of platform.plural.sh along, as one of the objects of its service.{unknown && ' This cluster does not know the kind yet: its agent’s manifests are of an older version.'}</Empty>}
      />
      {data?.more && <Muted>Only the first {data.all.length} are shown.</Muted>}
    </Panel>
  )
}
