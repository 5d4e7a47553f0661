import { useNavigate, useParams } from '@tanstack/react-router'
import { useMemo } from 'react'
import kube from './kube/Kube.module.css'
import { KubeError } from './kube/KubeError'
import { LiveGate } from './kube/LiveGate'
import { LiveState } from './kube/LiveState'
import { micros } from './kube/object'
import { type TableColumn, type TableRow, cellOf } from './kube/table'
import { stateOf } from './kube/words'
import { useKubeTitle } from './kube/useKubeTitle'
import { Toolbar, useFilter } from './list/Toolbar'
import { NameLink, sortValue } from './list/columns'
import { matcher } from './list/match'
import { useParameter } from './list/scope'
import { sortRows, sourceOf, useLiveList, useOrder } from './list/useLiveList'
import { Empty } from '#/ds/State'
import { many } from '#/ds/Text'
import { DataGrid } from '#/grid/DataGrid'
import type { Column } from '#/grid/layout'
import { Age } from '#/status/Age'
import { Status } from '#/status/Status'

export function Page() {
  return (
    <LiveGate>
      <Nodes />
    </LiveGate>
  )
}

export const nodesGVR = { group: '', version: 'v1', resource: 'nodes' }

export function nodePath(cluster: string, name: string): string {
  return `/clusters/${encodeURIComponent(cluster)}/nodes/${encodeURIComponent(name)}`
}

function labelOf(text: string): string {
  return text.replace('Ready,SchedulingDisabled', 'Cordoned').replace('NotReady', 'Not ready').replace(',SchedulingDisabled', ', cordoned')
}

function columnsOf(cluster: string, wire: TableColumn[], gone: ReadonlySet<string>): Column<TableRow>[] {
  const of = (r: TableRow, name: string) => cellOf(wire, r, name)
  return [
    { id: 'status', header: 'Status', min: 120, sort: 'Status', cell: (r) => <Status word={stateOf(of(r, 'Status'))} label={labelOf(of(r, 'Status'))} title={of(r, 'Status')} /> },
    { id: 'name', header: 'Name', min: 160, grow: 3, sort: 'Name', cell: (r) => <NameLink name={r.meta.name} to={nodePath(cluster, r.meta.name)} gone={gone.has(r.id)} /> },
    { id: 'roles', header: 'Roles', min: 110, grow: 1, sort: 'Roles', drop: 3, cell: (r) => of(r, 'Roles').replace('<none>', '') },
    { id: 'version', header: 'Version', min: 96, sort: 'Version', drop: 2, cell: (r) => of(r, 'Version') },
    { id: 'ip', header: 'Internal IP', min: 120, drop: 5, cell: (r) => of(r, 'Internal-IP').replace('<none>', '') },
    { id: 'os', header: 'OS image', min: 180, grow: 1, drop: 6, cell: (r) => <span title={of(r, 'OS-Image')}>{of(r, 'OS-Image').replace('<unknown>', '')}</span> },
    { id: 'runtime', header: 'Runtime', min: 150, drop: 7, cell: (r) => of(r, 'Container-Runtime').replace('<unknown>', '') },
    { id: 'age', header: 'Age', min: 64, sort: 'Age', drop: 1, align: 'end', cell: (r) => <Age at={micros(r.meta.creationTimestamp)} /> },
  ]
}

function Nodes() {
  const { cluster = '' } = useParams({ strict: false }) as { cluster?: string }
  const navigate = useNavigate()
  const { text, field } = useFilter()
  const [sort, setSort] = useParameter('sort')
  const [state, list] = useLiveList({ cluster, gvr: nodesGVR })
  useKubeTitle(`Nodes · ${cluster}`)
  const { rows, columns: wire, gone } = state
  const [ordered, reorder] = useOrder(rows, (all) => sortRows(all, { by: sort, of: sortValue(wire) }), `${sort} ${state.loading}`)
  const shown = useMemo(() => ordered.filter(matcher(text)), [ordered, text])
  const columns = useMemo(() => columnsOf(cluster, wire, gone), [cluster, wire, gone])
  const source = sourceOf(shown, {
    loading: state.loading,
    error: undefined,
    retry: list.retry,
    changed: state.changed,
    refresh: () => {
      list.refresh()
      reorder()
    },
    matches: (r) => !gone.has(r.id),
    stale: state.live === 'lost',
  })
  return (
    <>
      <Toolbar cluster={cluster} filter={field}>
        <LiveState live={state.live} />
      </Toolbar>
      {state.error !== undefined && <KubeError title="Can't list the nodes" error={state.error} retry={list.retry} />}
      {!(state.error !== undefined && rows.length === 0) && (
        <DataGrid label="Nodes" source={source} columns={columns} idOf={(r) => r.id} onOpen={(r) => void navigate({ to: nodePath(cluster, r.meta.name) })} sort={sort} onSort={setSort} empty={<Empty title={rows.length > 0 ? 'No node matches' : 'This cluster has no node'} />} />
      )}
      <p className={kube.foot} role="status">
        {!state.loading && many(shown.length, 'node')}
      </p>
    </>
  )
}
