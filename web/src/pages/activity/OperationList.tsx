import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useMemo } from 'react'
import styles from './Activity.module.css'
import { Progress } from './Progress'
import { titleOf } from './text'
import { keyOf, unary } from '#/api/call'
import { type Operation, Operations } from '#/api/gen/hub/v1/operations_pb'
import { Button } from '#/ds/Button'
import { Empty } from '#/ds/State'
import { Muted, many } from '#/ds/Text'
import { DataGrid } from '#/grid/DataGrid'
import type { Column } from '#/grid/layout'
import { useArray } from '#/grid/useArray'
import { useHint } from '#/live/useLive'
import { Age } from '#/status/Age'
import { Status } from '#/status/Status'

const columns: Column<Operation>[] = [
  { id: 'state', header: 'State', min: 104, cell: (o) => <Status word={o.state} /> },
  {
    id: 'what',
    header: 'Operation',
    min: 150,
    grow: 2,
    cell: (o) => (
      <Link to="/operations/$id" params={{ id: o.id }} tabIndex={-1} title={o.selection}>
        {titleOf(o)}
      </Link>
    ),
  },
  { id: 'progress', header: 'Progress', min: 230, grow: 2, drop: 2, cell: (o) => <Progress operation={o} /> },
  { id: 'selection', header: 'Services', min: 160, grow: 2, drop: 4, cell: (o) => <span title={o.selection}>{o.selection}</span> },
  { id: 'by', header: 'By', min: 150, grow: 1, drop: 3, cell: (o) => o.by },
  { id: 'reason', header: 'Reason', min: 120, grow: 1, drop: 5, cell: (o) => (o.reason ? <span title={o.reason}>{o.reason}</span> : <Muted>none</Muted>) },
  { id: 'at', header: 'Started', min: 80, cell: (o) => <Age at={o.createdAt} after="ago" /> },
]

const size = 50

export function OperationList() {
  const navigate = useNavigate()
  const { data, error, isPending, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: [...keyOf(Operations.method.list), 'all'],
    queryFn: ({ pageParam, signal }) => unary(Operations.method.list, { limit: size, after: pageParam }, signal),
    initialPageParam: '',
    getNextPageParam: (last) => (last.operations.length === size ? last.operations.at(-1)!.id : undefined),
  })
  useHint(['operations'], keyOf(Operations.method.list))
  const rows = useMemo(() => (data?.pages ?? []).flatMap((p) => p.operations), [data])
  const source = useArray(rows, { loading: isPending, error, retry: () => void refetch() })
  return (
    <>
      <DataGrid
        label="Operations"
        source={source}
        columns={columns}
        idOf={(o) => o.id}
        onOpen={(o) => void navigate({ to: '/operations/$id', params: { id: o.id } })}
        empty={
          <Empty title="No operations yet">
            <p>An operation does one thing to many services: sync, pause, resume or roll back.</p>
            <p>
              <Link to="/services">Select services</Link> with <kbd>x</kbd> and choose what to do. It goes on when you close the browser, and is found here.
            </p>
          </Empty>
        }
      />
      {rows.length > 0 && (
        <div className={styles.foot}>
          {hasNextPage ? (
            <Button busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
              Load older
            </Button>
          ) : (
            <span>{many(rows.length, 'operation')}, that is all.</span>
          )}
        </div>
      )}
    </>
  )
}
