import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { CircleX, Pencil, RefreshCw, Trash2 } from 'lucide-react'
import { Suspense, lazy, useState } from 'react'
import styles from './Repositories.module.css'
import { keyOf, unary, useAction, useCall } from '#/api/call'
import { type Head, Repositories } from '#/api/gen/hub/v1/hub_pb'
import { byConsole, useAgain } from '#/api/manage'
import { useMay } from '#/api/may'
import { useKeys } from '#/app/useKeys'
import { Button } from '#/ds/Button'
import { Crumbs } from '#/ds/Crumbs'
import { MayNot } from '#/ds/Forbidden'
import { type Col, Listing } from '#/ds/Listing'
import { ManagedBy } from '#/ds/ManagedBy'
import { PageHeader } from '#/ds/PageHeader'
import { Panel } from '#/ds/Panel'
import { SkeletonLines } from '#/ds/Skeleton'
import { Banner, Empty, ErrorPanel } from '#/ds/State'
import { type Fact, Facts, Hash, Muted, many } from '#/ds/Text'
import { toast } from '#/ds/toast'
import { useHint } from '#/live/useLive'
import { Age, Time, Until } from '#/status/Age'
import { DeployButton } from '#/pages/services/DeployButton'
import { Status } from '#/status/Status'

const RepositoryDialog = lazy(() => import('./RepositoryDialog').then((m) => ({ default: m.RepositoryDialog })))
const ActionDialog = lazy(() => import('#/ds/ActionDialog').then((m) => ({ default: m.ActionDialog })))

const heads: Col<Head>[] = [
  {
    id: 'ref',
    header: 'Follows',
    cell: (h) => (
      <>
        {h.ref || '(default)'}
        {h.folder && <Muted> / {h.folder}</Muted>}
      </>
    ),
  },
  {
    id: 'revision',
    header: 'Commit',
    grow: true,
    cell: (h) => (
      <div className={styles.head}>
        <span>
          <Hash revision={h.revision} /> {h.message.split('\n')[0]}
        </span>
        {h.error && <span className={styles.error}>{h.error}</span>}
      </div>
    ),
  },
  { id: 'at', header: 'Fetched', cell: (h) => <Age at={h.fetchedAt} after="ago" /> },
  { id: 'services', header: 'Services', align: 'end', cell: (h) => h.services },
]

export function Page() {
  const { name } = useParams({ strict: false }) as { name: string }
  const navigate = useNavigate()
  const [dialog, setDialog] = useState<'edit' | 'delete'>()
  const { data: r, error, refetch } = useCall(Repositories.method.get, { name })
  const may = useMay('git', r?.project ? { project: r.project } : {}, r !== undefined)
  const again = useAgain(Repositories.method.list, Repositories.method.get)
  const refresh = useAction(Repositories.method.refresh, () => {
    void again()
    toast(`${name} is fetched now`)
  })
  useHint(['repositories'], keyOf(Repositories.method.get))
  const fetchNow = () => refresh.mutate({ name, wait: false })
  useKeys(
    'Repository',
    [
      { keys: 'f', does: 'fetch it now', run: fetchNow },
      { keys: 'e', does: 'edit it', run: () => setDialog('edit') },
    ],
    may.allowed === true,
  )
  const facts: Fact[] = r
    ? [
        { label: 'URL', value: r.url, wide: true },
        { label: 'Last fetch', value: <Age at={r.lastFetchAt} after="ago" /> },
        { label: 'Last attempt', value: <Age at={r.lastAttemptAt} after="ago" /> },
        { label: 'Next fetch', value: <Until at={r.nextFetchAt} never="not planned" past="now" /> },
        ...(r.failingSince ? [{ label: 'Failing for', value: <Age at={r.failingSince} /> }] : []),
        { label: 'Owner replica', value: r.owner ? `${r.owner}${r.preferred && r.preferred !== r.owner ? `, soon ${r.preferred}` : ''}` : <Muted>none holds its lease</Muted> },
        { label: 'Second copy', value: r.follower ? <>{r.follower}, <Age at={r.followedAt} after="ago" /></> : <Muted>none</Muted> },
        { label: 'Services', value: r.services ? <Link to="/services" search={{ repository: r.name } as never}>{many(r.services, 'service')}</Link> : <Muted>none</Muted> },
        { label: 'Type', value: r.type },
        { label: 'Project', value: r.project },
        { label: 'Logs in with', value: r.auth === 'none' || !r.auth ? 'nothing' : r.auth },
        { label: 'Verifies', value: r.options?.verify?.mode ? `${r.options.verify.mode}, ${many(r.options.verify.keys.length, 'key')}` : <Muted>nothing</Muted> },
        ...(r.options?.proxy ? [{ label: 'Proxy', value: r.options.proxy }] : []),
        { label: 'Created', value: <Time at={r.createdAt} /> },
        { label: 'Managed by', value: <ManagedBy manager={r.managedBy} /> },
      ]
    : []
  return (
    <>
      <PageHeader
        title={name}
        crumbs={<Crumbs items={[{ label: 'Repositories', to: '/repositories' }]} />}
        beside={r && <Status word={r.health} chip />}
        actions={
          may.allowed === true && (
            <>
              <Button icon={RefreshCw} keys="f" busy={refresh.isPending} onClick={fetchNow}>
                Fetch now
              </Button>
              <Button icon={Pencil} keys="e" onClick={() => setDialog('edit')}>
                Edit
              </Button>
              <Button variant="danger" icon={Trash2} onClick={() => setDialog('delete')}>
                Delete
              </Button>
            </>
          )
        }
      >
        {may.allowed === false && <MayNot what="change this repository" reason={may.reason} />}
      </PageHeader>
      {error && <ErrorPanel title={`Can't read the repository ${name}`} error={error} retry={() => void refetch()} />}
      {refresh.error && <ErrorPanel title="It could not be fetched now" error={refresh.error} />}
      {r?.message && r.health === 'Failed' && (
        <Banner tone="bad" icon={CircleX}>
          <p>
            <b>The last fetch failed</b>
            {r.failingSince > 0n && (
              <>
                , and has for <Age at={r.failingSince} />
              </>
            )}
            . Services keep the content that they have; deploys of it go on.
          </p>
          <p className={styles.error}>{r.message}</p>
        </Banner>
      )}
      <Panel title="Repository">{r ? <Facts facts={facts} /> : !error && <SkeletonLines lines={4} />}</Panel>
      <Panel title="Heads" flush aside={r && many(r.heads.length, 'source')}>
        <Listing<Head>
          label="Heads"
          rows={r?.heads}
          error={r ? undefined : error}
          idOf={(h) => `${h.ref}\n${h.folder}`}
          cols={heads}
          empty={
            <Empty title="Nothing follows it yet" actions={r?.type === 'git' && <DeployButton repository={name} main />}>
              <p>A head appears for each ref and folder that a service follows.</p>
            </Empty>
          }
        />
      </Panel>
      <Suspense fallback={null}>
        {dialog === 'edit' && r && <RepositoryDialog repository={r} onClose={() => setDialog(undefined)} />}
        {dialog === 'delete' && r && (
          <ActionDialog
            title={`Delete ${name}?`}
            submit="Delete the repository"
            danger
            takeOver
            onClose={() => setDialog(undefined)}
            run={async (takeOver) => {
              await unary(Repositories.method.delete, { name, management: byConsole(takeOver) })
              await navigate({ to: '/repositories' })
              await again()
              toast(`${name} was deleted`)
            }}
          >
            {r.services > 0 ? <p>The hub refuses to delete it as long as {many(r.services, 'service follows', 'services follow')} it.</p> : <p>No service that you may see uses it. The hub forgets its URL, its credentials and its copy; the upstream is not touched.</p>}
            <p>There is no undo. To have it back, add it again and give its credentials.</p>
          </ActionDialog>
        )}
      </Suspense>
    </>
  )
}
