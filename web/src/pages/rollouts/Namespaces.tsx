import { Link, useNavigate } from '@tanstack/react-router'
import { selectionOf } from './text'
import { keyOf, useCall } from '#/api/call'
import { type ManagedNamespace, ManagedNamespaces } from '#/api/gen/hub/v1/namespaces_pb'
import { Command } from '#/ds/Copy'
import { ManagedBy } from '#/ds/ManagedBy'
import { Empty } from '#/ds/State'
import { Middle } from '#/ds/Text'
import { DataGrid } from '#/grid/DataGrid'
import type { Column } from '#/grid/layout'
import { useArray } from '#/grid/useArray'
import { useHint } from '#/live/useLive'
import { Age } from '#/status/Age'

const columns: Column<ManagedNamespace>[] = [
  {
    id: 'name',
    header: 'Name',
    min: 140,
    grow: 2,
    cell: (n) => (
      <Link to="/managed-namespaces/$name" params={{ name: n.name }} tabIndex={-1}>
        <Middle text={n.name} />
      </Link>
    ),
  },
  { id: 'selects', header: 'Kept on', min: 160, grow: 3, cell: (n) => <span title={selectionOf(n.settings)}>{selectionOf(n.settings)}</span> },
  { id: 'cascade', header: 'When no longer selected', min: 170, drop: 2, cell: (n) => (n.settings?.cascade === 'delete' ? 'it is deleted' : 'it stays') },
  { id: 'changed', header: 'Changed', min: 90, drop: 1, cell: (n) => <Age at={n.updatedAt} after="ago" /> },
  { id: 'manager', header: 'Managed by', min: 160, grow: 1, drop: 3, cell: (n) => <ManagedBy manager={n.managedBy} /> },
]

const none: ManagedNamespace[] = []

export function Namespaces() {
  const navigate = useNavigate()
  const { data, error, isPending, refetch } = useCall(ManagedNamespaces.method.list, { pageSize: 500 })
  useHint(['rollouts'], keyOf(ManagedNamespaces.method.list))
  const source = useArray(data?.namespaces ?? none, { loading: isPending, error, retry: () => void refetch() })
  return (
    <>
      <DataGrid
        label="Managed namespaces"
        source={source}
        columns={columns}
        idOf={(n) => n.id}
        onOpen={(n) => void navigate({ to: '/managed-namespaces/$name', params: { name: n.name } })}
        empty={
          <Empty title="No managed namespaces yet">
            <p>A managed namespace keeps one namespace, with labels and pull secrets, on every cluster that it selects.</p>
            <Command command="axle namespaces create monitoring --tag tier=edge --label team=platform" />
          </Empty>
        }
      />
      {data?.nextPageToken && <p>These are the first 500. All: axle namespaces list</p>}
    </>
  )
}
