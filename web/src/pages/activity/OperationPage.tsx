import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { Ban, RotateCw } from 'lucide-react'
import { Suspense, lazy, useMemo, useState } from 'react'
import styles from './Activity.module.css'
import { Progress } from './Progress'
import { titleOf, undoOf } from './text'
import { keyOf, unary, useCall } from '#/api/call'
import { type OperationTarget, Operations } from '#/api/gen/hub/v1/operations_pb'
import { useAgain } from '#/api/manage'
import { type Search, textOf } from '#/app/search'
import { Button } from '#/ds/Button'
import { Crumbs } from '#/ds/Crumbs'
import { Segmented, TextField } from '#/ds/Form'
import { PageHeader } from '#/ds/PageHeader'
import { Panel } from '#/ds/Panel'
import { SkeletonLines } from '#/ds/Skeleton'
import { Empty, ErrorPanel } from '#/ds/State'
import { Facts, Muted, many } from '#/ds/Text'
import { toast } from '#/ds/toast'
import { DataGrid } from '#/grid/DataGrid'
import type { Column } from '#/grid/layout'
import { useArray } from '#/grid/useArray'
import { useHint } from '#/live/useLive'
import { Age, Time } from '#/status/Age'
import { millis, spanOf } from '#/status/age'
import { Status } from '#/status/Status'

const ActionDialog = lazy(() => import('#/ds/ActionDialog').then((m) => ({ default: m.ActionDialog })))

const columns: Column<OperationTarget>[] = [
  { id: 'state', header: 'State', min: 104, cell: (t) => <Status word={t.state} title={t.message || undefined} /> },
  {
    id: 'service',
    header: 'Service',
    min: 170,
    grow: 2,
    cell: (t) => (
      <Link to="/services/$cluster/$service" params={{ cluster: t.cluster, service: t.service }} tabIndex={-1}>
        {t.cluster}/{t.service}
      </Link>
    ),
  },
  { id: 'message', header: 'Message', min: 260, grow: 4, drop: 1, cell: (t) => <span title={t.message}>{t.message}</span> },
  { id: 'at', header: 'When', min: 80, drop: 2, cell: (t) => <Age at={t.at} never="" after="ago" /> },
]

export function Page() {
  const { id } = useParams({ strict: false }) as { id: string }
  const search = useSearch({ strict: false }) as Search
  const failedOnly = textOf(search['show']) === 'failed'
  const navigate = useNavigate()
  const [dialog, setDialog] = useState<'cancel' | 'retry'>()
  const [reason, setReason] = useState('')
  const { data: o, error, refetch } = useCall(Operations.method.get, { id })
  const targets = useInfiniteQuery({
    queryKey: [...keyOf(Operations.method.listTargets), id, failedOnly],
    queryFn: ({ pageParam, signal }) => unary(Operations.method.listTargets, { id, limit: 500, pageToken: pageParam, failedOnly }, signal),
    initialPageParam: '',
    getNextPageParam: (last) => last.nextPageToken || undefined,
  })
  const again = useAgain(Operations.method.list, Operations.method.get, Operations.method.listTargets)
  useHint(['operations'], keyOf(Operations.method.get), keyOf(Operations.method.listTargets))
  const rows = useMemo(() => (targets.data?.pages ?? []).flatMap((p) => p.targets), [targets.data])
  const source = useArray(rows, { loading: targets.isPending, error: targets.error, retry: () => void targets.refetch() })
  const running = o?.state === 'Running'
  const left = o ? o.total - o.done - o.failed : 0n
  return (
    <>
      <PageHeader
        title={o ? titleOf(o) : 'Operation'}
        crumbs={<Crumbs items={[{ label: 'Activity', to: '/activity' }]} />}
        beside={o && <Status word={o.state} chip />}
        actions={
          o && (
            <>
              {running && (
                <Button icon={Ban} variant="danger" onClick={() => setDialog('cancel')}>
                  Cancel
                </Button>
              )}
              {o.failed > 0n && (
                <Button icon={RotateCw} variant="primary" onClick={() => setDialog('retry')}>
                  Retry {many(o.failed, 'failed service')}
                </Button>
              )}
            </>
          )
        }
      >
        {o && <Progress operation={o} wide />}
        <span role="status" className="visually-hidden">
          {o && !running ? `The operation ended: ${o.state}` : ''}
        </span>
      </PageHeader>
      {error && <ErrorPanel title="Can't read the operation" error={error} retry={() => void refetch()} />}
      <Panel title="Operation">
        {o ? (
          <Facts
            facts={[
              { label: 'Services', value: o.selection || many(o.total, 'service'), wide: true },
              { label: 'Reason', value: o.reason || <Muted>none given</Muted>, wide: true },
              { label: 'By', value: o.by },
              { label: 'Started', value: <Time at={o.createdAt} /> },
              { label: 'Last change', value: <Age at={o.updatedAt} after="ago" /> },
              ...(o.endedAt ? [{ label: 'Took', value: spanOf(millis(o.endedAt) - millis(o.createdAt)) }] : []),
              ...(o.forbidden ? [{ label: 'You may not write', value: many(o.forbidden, 'service') }] : []),
            ]}
          />
        ) : (
          !error && <SkeletonLines lines={2} />
        )}
      </Panel>
      <div className={styles.choice}>
        <Segmented
          label="Which services"
          value={failedOnly ? 'failed' : 'all'}
          options={[
            { value: 'all', label: `All${o ? ` ${o.total}` : ''}` },
            { value: 'failed', label: `Failed${o ? ` ${o.failed}` : ''}` },
          ]}
          onChange={(show) => void navigate({ to: '/operations/$id', params: { id }, search: { ...search, show: show === 'failed' ? show : undefined } as never, replace: true })}
        />
      </div>
      <DataGrid label="Services of the operation" source={source} columns={columns} idOf={(t) => t.serviceId} onOpen={(t) => void navigate({ to: '/services/$cluster/$service', params: { cluster: t.cluster, service: t.service } })} empty={<Empty title={failedOnly ? 'Nothing failed' : 'No services'} />} />
      {targets.hasNextPage && (
        <div className={styles.foot}>
          <Button busy={targets.isFetchingNextPage} onClick={() => void targets.fetchNextPage()}>
            Load more
          </Button>
        </div>
      )}
      <Suspense fallback={null}>
        {dialog === 'cancel' && o && (
          <ActionDialog
            title="Cancel this operation?"
            submit="Cancel the rest"
            danger
            onClose={() => setDialog(undefined)}
            run={async () => {
              await unary(Operations.method.cancel, { id })
              await again()
              toast('Cancelled: what has not begun is left')
            }}
          >
            <p>
              Not begun, and cancelled: {many(left, 'service')}. Done, and not undone: {many(o.done, 'service')}. {undoOf(o.action)}
            </p>
          </ActionDialog>
        )}
        {dialog === 'retry' && o && (
          <ActionDialog
            title={`Retry ${many(o.failed, 'failed service')}`}
            submit="Retry"
            onClose={() => setDialog(undefined)}
            run={async () => {
              const made = await unary(Operations.method.start, { action: o.action, failedOf: id, reason })
              await again()
              await navigate({ to: '/operations/$id', params: { id: made.id } })
            }}
          >
            <p>A new operation does the same to the {many(o.failed, 'service')} that failed here. This one stays as it is.</p>
            <TextField label="Reason (optional)" value={reason} onChange={setReason} maxLength={500} autoFocus hint="Kept in the event and the audit log." />
          </ActionDialog>
        )}
      </Suspense>
    </>
  )
}
