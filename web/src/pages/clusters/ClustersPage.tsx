import { Link, useNavigate } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useMemo } from 'react'
import { ClusterPeek } from './ClusterPeek'
import styles from './clusters.module.css'
import { clusterColumns, clusterHref } from './columns'
import { clusterFields, clusterFilter, useStillMatches } from './filter'
import { unary } from '#/api/call'
import { type ClusterRow, Fleet } from '#/api/gen/hub/v1/fleet_pb'
import { hidden } from '#/api/errors'
import { useMaySomewhere } from '#/api/may'
import { ViewControl } from '#/app/views/ViewControl'
import { buttonClass } from '#/ds/Button'
import { copyText } from '#/ds/Copy'
import { Segmented } from '#/ds/Form'
import type { Item } from '#/ds/Menu'
import { MayNot } from '#/ds/Forbidden'
import { PageHeader } from '#/ds/PageHeader'
import { Empty } from '#/ds/State'
import { Button } from '#/ds/Button'
import { many } from '#/ds/Text'
import { toast } from '#/ds/toast'
import { ColumnChoice } from '#/grid/ColumnChoice'
import { DataGrid } from '#/grid/DataGrid'
import { FilterBar, type Preset } from '#/grid/FilterBar'
import { isFiltered, noFilter, viewNameOf } from '#/grid/filter'
import { chosen, headerOf } from '#/grid/layout'
import { Beside } from '#/grid/Peek'
import { useListState } from '#/grid/useListState'
import { usePages } from '#/grid/usePages'
import { FirstSteps } from '#/pages/fleet/FirstSteps'
import { maxCells } from '#/pages/fleet/heat'
import { HeatMapPanel } from '#/pages/fleet/HeatMapPanel'

const presets: Preset[] = [
  { label: 'Needs you', filter: { text: '', values: { verdict: ['NeedsYou'] } } },
  { label: 'Failed', filter: { text: '', values: { verdict: ['Failed'] } } },
  { label: 'Stale', filter: { text: '', values: { freshness: ['Stale'] } } },
  { label: 'Pending', filter: { text: '', values: { verdict: ['Pending'] } } },
]

export function Page() {
  const list = useListState(clusterFields)
  const navigate = useNavigate()
  const may = useMaySomewhere('create')
  const { filter, sort } = list
  const wire = clusterFilter(filter)
  const source = usePages<ClusterRow>({
    queryKey: ['clusters', wire, sort],
    read: (offset, limit, facets, signal) => unary(Fleet.method.queryClusters, { filter: wire, sort, offset, limit, facets }, signal),
    kind: 'clusters',
    idOf,
    matches: useStillMatches(filter),
    orderOf: (row) => orderBy(row, sort),
  })
  const open = (row: ClusterRow) => void navigate({ to: clusterHref(nameOf(row)) })
  const chosenIds = list.columns.join()
  const shownColumns = useMemo(() => chosen(clusterColumns, chosenIds.split(',').filter(Boolean)), [chosenIds])
  const heat = list.view === 'heat'
  const none = (!source.loading && !source.error && source.unfiltered === 0) || hidden(source.error)
  return (
    <>
      <PageHeader
        title="Clusters"
        actions={
          may.allowed === true && (
            <Link to="/clusters/new" className={buttonClass('primary')}>
              <Plus size={14} aria-hidden />
              Add a cluster
            </Link>
          )
        }
      >
        {may.allowed === false && !none && <MayNot what="add a cluster" reason={may.reason} />}
      </PageHeader>
      {none ? (
        <FirstSteps />
      ) : (
        <>
          <FilterBar noun="cluster" filter={filter} fields={clusterFields} facets={source.facets} total={source.total} unfiltered={source.unfiltered} presets={presets} onFilter={list.setFilter}>
            <ViewControl suggest={() => heat ? viewNameOf('clusters on the heat map', noFilter, [], { by: list.group.replaceAll(/[:_]/g, ' ') }) : viewNameOf('clusters', filter, clusterFields, { by: headerOf(clusterColumns, sort) })} />
            <Segmented label="View" value={heat ? 'heat' : 'list'} options={[{ value: 'list', label: 'List' }, { value: 'heat', label: 'Heat map' }]} onChange={(v) => list.setView(v === 'heat' ? v : '')} />
            {!heat && <ColumnChoice columns={clusterColumns} shown={list.columns} onShown={list.setColumns} />}
          </FilterBar>
          <Beside peek={list.peek && <ClusterPeek name={list.peek} onClose={() => list.setPeek(undefined)} />}>
            {heat ? (
              <div className={styles.heat}>
                <HeatMapPanel most={maxCells} onPeek={list.setPeek} />
              </div>
            ) : (
              <DataGrid
                label="Clusters"
                source={source}
                columns={shownColumns}
                idOf={nameOf}
                onOpen={open}
                sort={sort}
                onSort={list.setSort}
                actions={(row) => rowActions(row, (to) => void navigate({ to }))}
                peek={list.peek}
                onPeek={(row) => list.setPeek(row && nameOf(row))}
                empty={
                  isFiltered(filter) && (
                    <Empty title="No clusters match" actions={<Button onClick={() => list.setFilter(noFilter)}>Clear the filter</Button>}>
                      {many(source.unfiltered, 'cluster')} hidden by the filter.
                    </Empty>
                  )
                }
              />
            )}
          </Beside>
        </>
      )}
    </>
  )
}

function idOf(row: ClusterRow): string {
  return row.cluster?.id ?? ''
}

function nameOf(row: ClusterRow): string {
  return row.cluster?.name ?? ''
}

// orderBy is what the sort looks at: a row whose text changes would move.
function orderBy(row: ClusterRow, sort: string): string {
  switch (sort.replace('-', '')) {
    case 'verdict':
      return row.verdict
    case 'freshness':
      return row.cluster?.freshness ?? ''
    case 'services':
      return String(row.cluster?.services)
    case 'kubernetes_version':
      return row.cluster?.kubernetesVersion ?? ''
    case 'agent_version':
      return row.cluster?.agentVersion ?? ''
    case 'nodes':
      return String(row.cluster?.nodes)
    default:
      return nameOf(row)
  }
}

function rowActions(row: ClusterRow, go: (to: string) => void): Item[] {
  const name = nameOf(row)
  return [
    { id: 'open', label: 'Open', run: () => go(clusterHref(name)) },
    { id: 'services', label: 'Services', run: () => go(`${clusterHref(name)}/services`) },
    { id: 'settings', label: 'Settings', run: () => go(`${clusterHref(name)}/settings`) },
    {
      id: 'kubeconfig',
      label: 'Copy the kubeconfig command',
      apart: true,
      run: () => {
        void copyText(`axle clusters kubeconfig ${name}`).then(() => toast('Command copied'))
      },
    },
  ]
}
