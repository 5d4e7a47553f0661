import { useNavigate, useParams } from '@tanstack/react-router'
import { FileCode, ScrollText, SquareTerminal } from 'lucide-react'
import { useCallback, useMemo } from 'react'
import kube from './kube/Kube.module.css'
import { KubeError } from './kube/KubeError'
import { LiveGate } from './kube/LiveGate'
import { LiveState } from './kube/LiveState'
import { objectPath } from './kube/gvr'
import { micros } from './kube/object'
import { useKubeTitle } from './kube/useKubeTitle'
import { Toolbar, useFilter } from './list/Toolbar'
import { NameLink } from './list/columns'
import { matcher } from './list/match'
import { useParameter, useScope } from './list/scope'
import { sourceOf, useLiveList, useOrder } from './list/useLiveList'
import { type Workload, compareWorkloads, workloadKinds, workloadOf } from './list/workloads'
import { Button } from '#/ds/Button'
import { Select } from '#/ds/Form'
import type { Item } from '#/ds/Menu'
import { Empty } from '#/ds/State'
import { Muted, count, many } from '#/ds/Text'
import { DataGrid } from '#/grid/DataGrid'
import type { Column } from '#/grid/layout'
import { Age } from '#/status/Age'
import { Status } from '#/status/Status'

export function Page() {
  return (
    <LiveGate>
      <Workloads />
    </LiveGate>
  )
}

// useWorkloads reads the six kinds. The kinds are constant, so the hooks are too.
function useWorkloads(cluster: string, namespace: string) {
  const [d, s, m, c, j, p] = workloadKinds
  const lists = [
    useLiveList({ cluster, gvr: d!.gvr, namespace }),
    useLiveList({ cluster, gvr: s!.gvr, namespace }),
    useLiveList({ cluster, gvr: m!.gvr, namespace }),
    useLiveList({ cluster, gvr: c!.gvr, namespace }),
    useLiveList({ cluster, gvr: j!.gvr, namespace }),
    useLiveList({ cluster, gvr: p!.gvr, namespace }),
  ] as const
  const states = lists.map(([state]) => state)
  const rows = useMemo(
    () => states.flatMap((state, i) => state.rows.flatMap((row) => workloadOf(workloadKinds[i]!.kind, workloadKinds[i]!.gvr, state.columns, row) ?? [])),
    // oxlint-disable-next-line react/exhaustive-deps -- the rows of each state
    states.map((state) => state.rows),
  )
  const gone = useMemo(
    () => new Set(states.flatMap((state, i) => [...state.gone].map((id) => `${workloadKinds[i]!.kind} ${id}`))),
    // oxlint-disable-next-line react/exhaustive-deps -- what is gone of each state
    states.map((state) => state.gone),
  )
  const known = new Set(states.flatMap((state) => state.live ?? []))
  return {
    rows,
    gone,
    loading: states.every((state) => state.loading),
    // How many lists have yet to come: until then, the order is not made.
    pending: states.filter((state) => state.loading).length,
    live: known.has('lost') ? ('lost' as const) : known.size === 2 ? ('partly' as const) : [...known][0],
    failed: states.flatMap((state, i) => (state.error === undefined ? [] : [{ kind: workloadKinds[i]!.kind, error: state.error, retry: lists[i]![1].retry }])),
    partial: states.flatMap((state, i) => (state.more ? [workloadKinds[i]!.kind] : [])),
    changed: rows.filter((r) => gone.has(r.id)).length,
    refresh: () => lists.forEach(([, list]) => list.refresh()),
    loadMore: () => lists.forEach(([state, list]) => state.more && void list.loadMore()),
  }
}

function columnsOf(cluster: string, namespace: string, gone: ReadonlySet<string>): Column<Workload>[] {
  return [
    { id: 'status', header: 'Status', min: 112, sort: 'Status', cell: (w) => <Status word={w.word} label={w.state} title={w.state} dim={gone.has(w.id)} /> },
    { id: 'name', header: 'Name', min: 120, grow: 3, sort: 'Name', cell: (w) => <NameLink name={w.row.meta.name} gone={gone.has(w.id)} to={objectPath(cluster, w.gvr, w.row.meta.namespace ?? '', w.row.meta.name)} /> },
    { id: 'kind', header: 'Kind', min: 100, sort: 'Kind', drop: 4, cell: (w) => w.kind },
    ...(namespace ? [] : [{ id: 'namespace', header: 'Namespace', min: 130, grow: 1, sort: 'Namespace', drop: 3, cell: (w: Workload) => <span title={w.row.meta.namespace}>{w.row.meta.namespace}</span> }]),
    { id: 'ready', header: 'Ready', min: 58, drop: 1, align: 'end', cell: (w) => w.ready },
    { id: 'detail', header: 'Detail', min: 150, grow: 1, drop: 5, cell: (w) => <Muted>{w.detail}</Muted> },
    { id: 'age', header: 'Age', min: 64, sort: 'Age', drop: 2, align: 'end', cell: (w) => <Age at={micros(w.row.meta.creationTimestamp)} /> },
  ]
}

function Workloads() {
  const { cluster = '' } = useParams({ strict: false }) as { cluster?: string }
  const navigate = useNavigate()
  const scope = useScope(cluster)
  const { namespace } = scope
  const { text, field } = useFilter()
  const [kind, setKind] = useParameter('kind')
  const [sort, setSort] = useParameter('sort')
  const all = useWorkloads(cluster, namespace)
  useKubeTitle(`Workloads · ${cluster}`)

  const [ordered, reorder] = useOrder(all.rows, (rows) => rows.toSorted(compareWorkloads(sort)), `${sort} ${namespace} ${all.pending}`)
  const shown = useMemo(() => {
    const test = matcher(text)
    return ordered.filter((w) => (!kind || w.kind === kind) && test({ ...w.row, cells: [w.kind, w.state, w.detail] }))
  }, [ordered, text, kind])
  const open = useCallback((w: Workload, tab?: string) => void navigate({ to: objectPath(cluster, w.gvr, w.row.meta.namespace ?? '', w.row.meta.name, tab) }), [navigate, cluster])
  const { gone } = all
  const columns = useMemo(() => columnsOf(cluster, namespace, gone), [cluster, namespace, gone])
  const source = sourceOf(shown, {
    loading: all.loading,
    error: undefined,
    retry: () => {},
    changed: all.changed,
    refresh: () => {
      all.refresh()
      reorder()
    },
    matches: (w) => !gone.has(w.id),
    stale: all.live === 'lost',
  })
  const actions = (w: Workload): Item[] => [
    { id: 'logs', label: 'Logs', icon: ScrollText, run: () => open(w, 'logs') },
    { id: 'exec', label: 'Terminal', icon: SquareTerminal, run: () => open(w, 'exec') },
    { id: 'yaml', label: 'YAML', icon: FileCode, run: () => open(w, 'yaml') },
  ]
  const bad = all.rows.filter((w) => w.word === 'Failed' || w.word === 'Degraded').length
  return (
    <>
      <Toolbar cluster={cluster} scope={scope} filter={field}>
        <Select label="Kind" hideLabel value={kind} onChange={setKind} options={[{ value: '', label: 'All kinds' }, ...workloadKinds.map((k) => ({ value: k.kind, label: k.kind === 'Pod' ? 'Pods without owner' : k.kind === 'Job' ? 'Jobs without owner' : `${k.kind}s` }))]} />
        <LiveState live={all.live} />
      </Toolbar>
      {all.failed[0] && (
        <KubeError
          title={`Can't list ${all.failed.map((f) => `${f.kind}s`).join(', ')}`}
          error={all.failed[0].error}
          others={all.failed.slice(1).map((f) => f.error)}
          retry={() => all.failed.forEach((f) => f.retry())}
        />
      )}
      {!(all.failed.length > 0 && all.rows.length === 0) && (
        <DataGrid
          label="Workloads"
          source={source}
          columns={columns}
          idOf={(w) => w.id}
          onOpen={open}
          sort={sort}
          onSort={setSort}
          actions={actions}
          empty={
            all.rows.length > 0 ? (
              <Empty title="No workload matches" actions={<Button onClick={() => void navigate({ to: '.', search: { ns: namespace || '*' } as never })}>Clear the filter, {count(all.rows.length)} hidden</Button>} />
            ) : (
              <Empty title={namespace ? `Nothing runs in ${namespace}` : 'Nothing runs on this cluster'} actions={namespace ? <Button onClick={() => scope.setNamespace('')}>Show all namespaces</Button> : undefined} />
            )
          }
        />
      )}
      <p className={kube.foot} role="status">
        {!all.loading && all.failed.length < workloadKinds.length && (
          <>
            {many(shown.length, 'workload')}
            {shown.length !== all.rows.length && ` of ${count(all.rows.length)}`}
            {bad > 0 && `, ${count(bad)} not ready`}
          </>
        )}
        {all.partial.length > 0 && (
          <>
            The cluster has more: {all.partial.map((k) => `${k}s`).join(', ')}.<Button onClick={all.loadMore}>Load 500 more of each</Button>
          </>
        )}
      </p>
    </>
  )
}
