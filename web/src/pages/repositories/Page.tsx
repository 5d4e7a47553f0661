import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { Suspense, lazy, useMemo, useState } from 'react'
import { counts, filterOf, kinds, order, viewNameOf, visible } from './list'
import styles from './Repositories.module.css'
import { keyOf, useCall } from '#/api/call'
import { Repositories, type Repository } from '#/api/gen/hub/v1/hub_pb'
import { useMaySomewhere } from '#/api/may'
import type { Search } from '#/app/search'
import { useKeys } from '#/app/useKeys'
import { ViewControl } from '#/app/views/ViewControl'
import { Button } from '#/ds/Button'
import { Command } from '#/ds/Copy'
import { MayNot } from '#/ds/Forbidden'
import { Segmented, Select, TextField } from '#/ds/Form'
import { PageHeader } from '#/ds/PageHeader'
import { Empty } from '#/ds/State'
import { Middle, Muted, many } from '#/ds/Text'
import { DataGrid } from '#/grid/DataGrid'
import { type Column, headerOf } from '#/grid/layout'
import { useArray } from '#/grid/useArray'
import { useHint } from '#/live/useLive'
import { Age, Until } from '#/status/Age'
import { Status } from '#/status/Status'

const RepositoryDialog = lazy(() => import('./RepositoryDialog').then((m) => ({ default: m.RepositoryDialog })))

const columns: Column<Repository>[] = [
  { id: 'health', header: 'Health', min: 104, cell: (r) => <Status word={r.health} title={r.message || undefined} /> },
  {
    id: 'name',
    header: 'Name',
    min: 140,
    grow: 2,
    sort: 'name',
    cell: (r) => (
      <Link to="/repositories/$name" params={{ name: r.name }} tabIndex={-1}>
        <Middle text={r.name} />
      </Link>
    ),
  },
  { id: 'type', header: 'Type', min: 64, drop: 4, cell: (r) => r.type },
  { id: 'url', header: 'URL', min: 180, grow: 4, drop: 6, cell: (r) => <Middle text={r.url} tail={16} /> },
  { id: 'fetched', header: 'Last fetch', min: 86, sort: 'fetched', cell: (r) => <Age at={r.lastFetchAt} after="ago" /> },
  { id: 'next', header: 'Next fetch', min: 86, drop: 5, cell: (r) => <Until at={r.nextFetchAt} never="" past="now" /> },
  { id: 'owner', header: 'Owner replica', min: 110, drop: 7, sort: 'owner', cell: (r) => (r.owner ? <Middle text={r.owner} /> : <Muted>none</Muted>) },
  { id: 'services', header: 'Services', min: 76, drop: 2, sort: 'services', align: 'end', cell: (r) => r.services },
  { id: 'project', header: 'Project', min: 80, drop: 8, cell: (r) => r.project },
  { id: 'message', header: 'Error', min: 240, grow: 6, drop: 3, cell: (r) => (r.health === 'Failed' ? <span title={r.message}>{r.message}</span> : '') },
]

export function Page() {
  const search = useSearch({ strict: false }) as Search
  const navigate = useNavigate()
  const [adding, setAdding] = useState(false)
  const { data, error, isPending, refetch } = useCall(Repositories.method.list, {})
  const may = useMaySomewhere('git')
  useHint(['repositories'], keyOf(Repositories.method.list))
  const filter = filterOf(search)
  const all = data?.repositories
  const { q, health, type, sort } = filter
  const rows = useMemo(() => visible(all ?? [], { q, health, type, sort }), [all, q, health, type, sort])
  const set = (change: Search) => void navigate({ to: '/repositories', search: { ...search, ...change } as never, replace: true })
  const source = useArray(rows, { loading: isPending, error, retry: () => void refetch() })
  useKeys('Repositories', [
    ...(may.allowed ? [{ keys: 'n', does: 'add a repository', run: () => setAdding(true) }] : []),
    { keys: '/', does: 'filter', run: () => document.querySelector<HTMLInputElement>('#repositories-q input')?.focus() },
  ])
  const by = counts(all ?? [], (r) => r.health)
  const failed = by.get('Failed') ?? 0
  const filtered = q || health || type
  return (
    <>
      <PageHeader
        title="Repositories"
        actions={
          may.allowed === true && (
            <Button variant="primary" icon={Plus} keys="n" onClick={() => setAdding(true)}>
              Add a repository
            </Button>
          )
        }
      >
        {all && all.length > 0 && <p>{failed ? `${failed} of ${many(all.length, 'repository', 'repositories')} cannot be fetched; services keep their content.` : `${all.length === 1 ? 'The repository' : `All ${many(all.length, 'repository', 'repositories')}`} can be fetched${(by.get('Unknown') ?? 0) > 0 ? ', or were not yet' : ''}.`}</p>}
        {may.allowed === false && <MayNot what="add a repository" reason={may.reason} />}
      </PageHeader>
      {(all?.length ?? 0) > 0 && (
        <div className={styles.filters} id="repositories-q" role="search" aria-label="Filter the repositories">
          <TextField label="Name, URL, error…" hideLabel placeholder="Name, URL, owner, error…" value={q} onChange={(q) => set({ q: q || undefined })} />
          <Segmented
            label="Health"
            value={health}
            options={[{ value: '', label: `All ${all?.length ?? 0}` }, ...order.map((h) => ({ value: h, label: `${h} ${by.get(h) ?? 0}` }))]}
            onChange={(health) => set({ health: health || undefined })}
          />
          <Select label="Type" hideLabel value={type} options={[{ value: '', label: 'All types' }, ...kinds.map((k) => ({ value: k, label: k }))]} onChange={(type) => set({ type: type || undefined })} />
          <ViewControl suggest={() => viewNameOf(filter, headerOf(columns, sort))} />
        </div>
      )}
      <DataGrid
        label="Repositories"
        source={source}
        columns={columns}
        idOf={(r) => r.id}
        sort={sort}
        onSort={(sort) => set({ sort: sort || undefined })}
        onOpen={(r) => void navigate({ to: '/repositories/$name', params: { name: r.name } })}
        empty={
          filtered ? (
            <Empty title={`No repositories match, ${many(all?.length ?? 0, 'is', 'are')} hidden`} actions={<Button onClick={() => set({ q: undefined, health: undefined, type: undefined })}>Clear the filter</Button>} />
          ) : (
            <Empty title="No repositories yet" actions={may.allowed && <Button variant="primary" icon={Plus} onClick={() => setAdding(true)}>Add a repository</Button>}>
              <p>Services come from repositories: Git, Helm charts, OCI artifacts or buckets. The hub fetches each one for the whole fleet.</p>
              <Command command="axle repos add fleet https://git.example.com/team/fleet.git" />
            </Empty>
          )
        }
      />
      <Suspense fallback={null}>{adding && <RepositoryDialog onClose={() => setAdding(false)} onDone={(name) => void navigate({ to: '/repositories/$name', params: { name } })} />}</Suspense>
    </>
  )
}
