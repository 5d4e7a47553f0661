import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useMemo } from 'react'
import { byUrgency, rolloutOf, selectionOf } from './text'
import { keyOf, unary } from '#/api/call'
import { type GlobalService, GlobalServices } from '#/api/gen/hub/v1/globals_pb'
import { Button } from '#/ds/Button'
import { Command } from '#/ds/Copy'
import { ManagedBy } from '#/ds/ManagedBy'
import { Empty } from '#/ds/State'
import { Middle } from '#/ds/Text'
import { DataGrid } from '#/grid/DataGrid'
import type { Column } from '#/grid/layout'
import { useArray } from '#/grid/useArray'
import { useHint } from '#/live/useLive'
import { Age } from '#/status/Age'
import { Status } from '#/status/Status'

const columns: Column<GlobalService>[] = [
  {
    id: 'name',
    header: 'Name',
    min: 140,
    grow: 2,
    cell: (g) => (
      <Link to="/rollouts/$name" params={{ name: g.name }} tabIndex={-1}>
        <Middle text={g.name} />
      </Link>
    ),
  },
  { id: 'state', header: 'Rollout', min: 130, cell: (g) => <Status {...rolloutOf(g)} /> },
  { id: 'selects', header: 'Runs on', min: 200, grow: 3, drop: 2, cell: (g) => <span title={selectionOf(g.settings)}>{selectionOf(g.settings)}</span> },
  { id: 'waves', header: 'Waves', min: 130, drop: 3, cell: (g) => g.settings?.rollout?.waves.join(', ') || 'all at once' },
  { id: 'changed', header: 'Changed', min: 90, drop: 1, cell: (g) => <Age at={g.updatedAt} after="ago" /> },
  { id: 'manager', header: 'Managed by', min: 160, grow: 1, drop: 4, cell: (g) => <ManagedBy manager={g.managedBy} /> },
]

export function Globals() {
  const navigate = useNavigate()
  const { data, error, isPending, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: [...keyOf(GlobalServices.method.list), 'all'],
    queryFn: ({ pageParam, signal }) => unary(GlobalServices.method.list, { pageSize: 500, pageToken: pageParam }, signal),
    initialPageParam: '',
    getNextPageParam: (last) => last.nextPageToken || undefined,
  })
  useHint(['rollouts'], keyOf(GlobalServices.method.list))
  const rows = useMemo(() => (data?.pages ?? []).flatMap((p) => p.globalServices).toSorted(byUrgency), [data])
  const source = useArray(rows, { loading: isPending, error, retry: () => void refetch() })
  return (
    <>
      <DataGrid
        label="Global services"
        source={source}
        columns={columns}
        idOf={(g) => g.id}
        onOpen={(g) => void navigate({ to: '/rollouts/$name', params: { name: g.name } })}
        empty={
          <Empty title="No global services yet">
            <p>A global service runs one service on every cluster that it selects, such as a log shipper on all edge clusters.</p>
            <Command command="axle globalservices create log-shipper --tag tier=edge --repo fleet --ref main --folder apps/log-shipper" />
          </Empty>
        }
      />
      {hasNextPage && (
        <div>
          <Button onClick={() => void fetchNextPage()} busy={isFetchingNextPage}>
            Load more
          </Button>
        </div>
      )}
    </>
  )
}
