import { useNavigate } from '@tanstack/react-router'
import { Suspense, lazy, useMemo, useState } from 'react'
import { BulkBar } from './BulkBar'
import { DeployButton } from './DeployButton'
import { ServicePeek } from './ServicePeek'
import { type Action, type Bulk, rowActions } from './actions'
import { serviceColumns, serviceHref } from './columns'
import { serviceFields, serviceFilter, useStillMatches } from './filter'
import { unary } from '#/api/call'
import { useMaySomewhere } from '#/api/may'
import { ViewControl } from '#/app/views/ViewControl'
import { Fleet, type ServiceRow } from '#/api/gen/hub/v1/fleet_pb'
import { Button } from '#/ds/Button'
import { Command } from '#/ds/Copy'
import { Empty } from '#/ds/State'
import { many } from '#/ds/Text'
import { ColumnChoice } from '#/grid/ColumnChoice'
import { DataGrid } from '#/grid/DataGrid'
import { FilterBar, type Preset } from '#/grid/FilterBar'
import { isFiltered, noFilter, viewNameOf } from '#/grid/filter'
import { chosen, headerOf } from '#/grid/layout'
import { Beside } from '#/grid/Peek'
import { useSelection } from '#/grid/place'
import { nobody } from '#/grid/select'
import { useListState } from '#/grid/useListState'
import { usePages } from '#/grid/usePages'

const OperationDialog = lazy(() => import('./OperationDialog').then((m) => ({ default: m.OperationDialog })))

const SingleAction = lazy(() => import('./SingleAction').then((m) => ({ default: m.SingleAction })))

const presets: Preset[] = [
  { label: 'Failed', filter: { text: '', values: { verdict: ['Failed'] } } },
  { label: 'Drifted', filter: { text: '', values: { verdict: ['Drifted'] } } },
  { label: 'Stale', filter: { text: '', values: { freshness: ['Stale'] } } },
  { label: 'Paused', filter: { text: '', values: { sync: ['Paused'] } } },
  { label: 'Progressing', filter: { text: '', values: { verdict: ['Progressing'] } } },
]

// ServiceList is the services of the fleet, or of one cluster.
export function ServiceList({ cluster }: { cluster?: string }) {
  const fields = cluster === undefined ? serviceFields : clusterServiceFields
  const list = useListState(fields)
  const navigate = useNavigate()
  // Of the rows, the hub decides one by one.
  const may = useMaySomewhere('write')
  const [bulk, setBulk] = useState<Bulk>()
  const [single, setSingle] = useState<{ action: Action; row: ServiceRow }>()
  const { filter, sort } = list
  const wire = serviceFilter(filter, cluster)
  const [selection, setSelection] = useSelection('Services', JSON.stringify(wire))
  const source = usePages<ServiceRow>({
    queryKey: ['services', wire, sort],
    read: (offset, limit, facets, signal) => unary(Fleet.method.queryServices, { filter: wire, sort, offset, limit, facets }, signal),
    kind: 'services',
    idOf,
    matches: useStillMatches(filter),
    orderOf: (row) => orderBy(row, sort),
  })
  const columns = cluster === undefined ? serviceColumns : clusterServiceColumns
  const chosenIds = list.columns.join()
  const shownColumns = useMemo(() => chosen(columns, chosenIds.split(',').filter(Boolean)), [columns, chosenIds])
  const filtered = isFiltered(filter)
  const total = cluster === undefined ? source.unfiltered : filtered ? source.unfiltered : source.total
  return (
    <>
      <FilterBar noun="service" filter={filter} fields={fields} facets={source.facets} total={source.total} unfiltered={total} presets={presets} onFilter={list.setFilter}>
        <ViewControl suggest={() => viewNameOf('services', filter, fields, { of: cluster, by: headerOf(columns, sort) })} />
        <ColumnChoice columns={columns} shown={list.columns} onShown={list.setColumns} />
      </FilterBar>
      <BulkBar may={may} selection={selection} total={source.total} onSelection={setSelection} onStart={(action) => setBulk({ action, selection, filter: wire, total: source.total })} />
      <Beside peek={list.peek && <ServicePeek id={list.peek} rows={source} onClose={() => list.setPeek(undefined)} onAction={(action, row) => setSingle({ action, row })} />}>
        <DataGrid
          label="Services"
          source={source}
          columns={shownColumns}
          idOf={idOf}
          onOpen={(row) => void navigate({ to: serviceHref(row) })}
          sort={sort}
          onSort={list.setSort}
          selection={selection}
          onSelection={setSelection}
          actions={(row) => rowActions(row, may, (to) => void navigate({ to }), (action) => setSingle({ action, row }))}
          peek={list.peek}
          onPeek={(row) => list.setPeek(row?.id)}
          empty={
            filtered ? (
              <Empty title="No services match" actions={<Button onClick={() => list.setFilter(noFilter)}>Clear the filter</Button>}>
                {many(total, 'service')} hidden by the filter.
              </Empty>
            ) : (
              <Empty title={cluster === undefined ? 'No services yet' : 'No services on this cluster yet'} actions={<DeployButton {...(cluster === undefined ? {} : { cluster })} />}>
                <p>A service delivers a folder of a repository, or a chart, to one cluster.</p>
                <Command command={`axle services create ${cluster ?? 'my-cluster'}/hello --repo my-repo --ref main --folder hello`} />
              </Empty>
            )
          }
        />
      </Beside>
      {single && (
        <Suspense fallback={null}>
          <SingleAction key={single.action} action={single.action} target={{ cluster: single.row.cluster, name: single.row.name, follows: single.row.ref }} onClose={() => setSingle(undefined)} />
        </Suspense>
      )}
      {bulk && (
        <Suspense fallback={null}>
          <OperationDialog bulk={bulk} onClose={() => setBulk(undefined)} onStarted={() => setSelection(nobody)} />
        </Suspense>
      )}
    </>
  )
}

const clusterServiceColumns = serviceColumns.filter((c) => c.id !== 'cluster')
const clusterServiceFields = serviceFields.filter((f) => f.id !== 'cluster' && f.id !== 'tag')

function idOf(row: ServiceRow): string {
  return row.id
}

function orderBy(row: ServiceRow, sort: string): string {
  switch (sort.replace('-', '')) {
    case 'verdict':
      return row.verdict
    case 'sync':
      return row.sync
    case 'health':
      return row.health
    case 'freshness':
      return row.freshness
    case 'updated_at':
      return String(row.updatedAt)
    case 'reported_at':
      return String(row.reportedAt)
    default:
      return `${row.cluster}/${row.name}`
  }
}
