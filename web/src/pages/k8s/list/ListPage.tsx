import { useNavigate } from '@tanstack/react-router'
import { FileCode, ScrollText, SquareTerminal } from 'lucide-react'
import { useCallback, useMemo } from 'react'
import { useParams } from '@tanstack/react-router'
import { KubeError } from '../kube/KubeError'
import styles from '../kube/Kube.module.css'
import { LiveGate } from '../kube/LiveGate'
import { LiveState } from '../kube/LiveState'
import { formatGVR, objectPath, parseGVR } from '../kube/gvr'
import type { Kind } from '../kube/kinds'
import type { TableRow } from '../kube/table'
import { useKind } from '../kube/useKinds'
import { useKubeTitle } from '../kube/useKubeTitle'
import { Toolbar, useFilter } from './Toolbar'
import { sortValue, tableColumns } from './columns'
import { matcher } from './match'
import { useParameter, useScope } from './scope'
import { sortRows, sourceOf, useLiveList, useOrder } from './useLiveList'
import { Button } from '#/ds/Button'
import { Checkbox } from '#/ds/Form'
import { Empty } from '#/ds/State'
import { count, many } from '#/ds/Text'
import { DataGrid } from '#/grid/DataGrid'
import type { Item } from '#/ds/Menu'

// The list of one kind: /clusters/:c/k8s/:gvr
export function Page() {
  const { cluster = '', gvr: text = '' } = useParams({ strict: false }) as { cluster?: string; gvr?: string }
  const gvr = parseGVR(text)
  if (!gvr) {
    return (
      <Empty title={`“${text}” is no kind of objects`}>
        <p>An address names a kind as kubectl does: pods.v1, deployments.v1.apps.</p>
      </Empty>
    )
  }
  return (
    <LiveGate>
      <KindList key={`${cluster} ${text}`} cluster={cluster} gvr={gvr} />
    </LiveGate>
  )
}

function KindList({ cluster, gvr }: { cluster: string; gvr: Kind | NonNullable<ReturnType<typeof parseGVR>> }) {
  const navigate = useNavigate()
  const kind = useKind(cluster, gvr)
  const scope = useScope(cluster)
  const { text, field } = useFilter()
  const [sort, setSort] = useParameter('sort')
  const [wide, setWide] = useParameter('wide')
  const namespace = kind.namespaced ? scope.namespace : ''
  const [state, list] = useLiveList({ cluster, gvr, namespace })
  useKubeTitle(`${kind.kind} · ${cluster}`)

  const { rows, columns, gone } = state
  const [ordered, reorder] = useOrder(rows, (all) => sortRows(all, { by: sort, of: sortValue(columns) }), `${sort} ${namespace} ${state.loading} ${state.more}`)
  const shown = useMemo(() => ordered.filter(matcher(text)), [ordered, text])
  const isWide = wide === '1'
  const made = useMemo(() => tableColumns({ cluster, gvr, columns, rows, wide: isWide, namespaces: kind.namespaced && !namespace, gone }), [cluster, gvr, columns, rows, isWide, kind.namespaced, namespace, gone])
  const open = useCallback((r: TableRow, tab?: string) => void navigate({ to: objectPath(cluster, gvr, r.meta.namespace ?? '', r.meta.name, tab) }), [navigate, cluster, gvr])
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
  const pods = formatGVR(gvr) === 'pods.v1'
  const actions = (r: TableRow): Item[] => [
    { id: 'yaml', label: 'YAML', icon: FileCode, run: () => open(r, 'yaml') },
    ...(pods
      ? [
          { id: 'logs', label: 'Logs', icon: ScrollText, run: () => open(r, 'logs') },
          { id: 'exec', label: 'Terminal', icon: SquareTerminal, run: () => open(r, 'exec') },
        ]
      : []),
  ]
  const extra = columns.some((c) => c.priority > 0)
  return (
    <>
      <div className={styles.heading}>
        <h2>{kind.kind}</h2>
        <code className={styles.muted}>{formatGVR(gvr)}</code>
        <LiveState live={state.live} />
      </div>
      <Toolbar cluster={cluster} scope={kind.namespaced ? scope : undefined} filter={field}>
        {extra && <Checkbox label="All columns" checked={isWide} onChange={(on) => setWide(on ? '1' : '')} />}
      </Toolbar>
      {state.error !== undefined && <KubeError title={`Can't list ${kind.resource}`} error={state.error} retry={list.retry} />}
      {!(state.error !== undefined && rows.length === 0) && (
        <DataGrid
          label={kind.kind}
          source={source}
          columns={made}
          idOf={(r) => r.id}
          onOpen={open}
          sort={sort}
          onSort={setSort}
          actions={actions}
          empty={
            text && rows.length > 0 ? (
              <Empty title={`No ${kind.resource} match`} actions={<Button onClick={() => void navigate({ to: '.', search: { ns: namespace || '*' } as never })}>Clear the filter, {count(rows.length)} hidden</Button>} />
            ) : (
              <Empty title={namespace ? `No ${kind.resource} in ${namespace}` : `No ${kind.resource}`} actions={namespace ? <Button onClick={() => scope.setNamespace('')}>Show all namespaces</Button> : undefined} />
            )
          }
        />
      )}
      <p className={styles.foot} role="status">
        {!state.loading && many(shown.length, 'object')}
        {text && rows.length !== shown.length && ` of ${count(rows.length)}`}
        {state.more && (
          <>
            {state.remaining !== undefined ? `, ${count(state.remaining)} more on the cluster.` : ', more on the cluster.'} Sorting and filtering are about those that are loaded.
            <Button busy={state.loadingMore} onClick={() => void list.loadMore()}>
              Load 500 more
            </Button>
          </>
        )}
      </p>
    </>
  )
}
