import { useNavigate, useParams } from '@tanstack/react-router'
import { Trash2 } from 'lucide-react'
import { Suspense, lazy, useState } from 'react'
import { Failures } from './Failures'
import { selectionOf, stateOf } from './text'
import { keyOf, unary, useCall } from '#/api/call'
import { ManagedNamespaces } from '#/api/gen/hub/v1/namespaces_pb'
import { byConsole, useAgain } from '#/api/manage'
import { useMay } from '#/api/may'
import { Button } from '#/ds/Button'
import { Crumbs } from '#/ds/Crumbs'
import { MayNot } from '#/ds/Forbidden'
import { ManagedBy } from '#/ds/ManagedBy'
import { PageHeader } from '#/ds/PageHeader'
import { Panel } from '#/ds/Panel'
import { SkeletonLines } from '#/ds/Skeleton'
import { ErrorPanel } from '#/ds/State'
import { Facts, Muted, Tag, many } from '#/ds/Text'
import { toast } from '#/ds/toast'
import { useHint } from '#/live/useLive'
import { Age } from '#/status/Age'
import { Status } from '#/status/Status'

const ActionDialog = lazy(() => import('#/ds/ActionDialog').then((m) => ({ default: m.ActionDialog })))

function Pairs({ of }: { of: { [k: string]: string } }) {
  const all = Object.entries(of).toSorted()
  if (all.length === 0) return <Muted>none</Muted>
  return all.map(([k, v]) => (
    <Tag key={k}>
      {k}={v}
    </Tag>
  ))
}

export function Page() {
  const { name } = useParams({ strict: false }) as { name: string }
  const navigate = useNavigate()
  const [deleting, setDeleting] = useState(false)
  const { data: n, error, refetch } = useCall(ManagedNamespaces.method.get, { name })
  const may = useMay('write', n?.settings?.project ? { project: n.settings.project } : {}, n !== undefined)
  const again = useAgain(ManagedNamespaces.method.list)
  useHint(['rollouts'], keyOf(ManagedNamespaces.method.get))
  const s = n?.settings
  const state = stateOf(n?.state)
  const services = stateOf(n?.serviceState)
  return (
    <>
      <PageHeader
        title={name}
        crumbs={<Crumbs items={[{ label: 'Rollouts', to: '/rollouts' }, { label: 'Managed namespaces', to: '/rollouts', search: { tab: 'namespaces' } }]} />}
        beside={n && <Status word={state.word} chip />}
        actions={
          may.allowed === true && (
            <Button variant="danger" icon={Trash2} onClick={() => setDeleting(true)}>
              Delete
            </Button>
          )
        }
      >
        {n && <p>{[s?.description, state.text].filter(Boolean).join(' · ')}</p>}
        {may.allowed === false && <MayNot what="change this namespace" reason={may.reason} />}
      </PageHeader>
      {error && <ErrorPanel title={`Can't read the managed namespace ${name}`} error={error} retry={() => void refetch()} />}
      <Failures failures={n?.state?.failures ?? []} failing={n?.state?.failing ?? 0} />
      <Panel title="Managed namespace">
        {n && s ? (
          <Facts
            facts={[
              { label: 'Kept on', value: selectionOf(s), wide: true },
              { label: 'Labels', value: <Pairs of={s.labels} />, wide: true },
              { label: 'Annotations', value: <Pairs of={s.annotations} />, wide: true },
              { label: 'Pull secrets', value: s.pullSecrets.join(', ') || <Muted>none</Muted> },
              { label: 'Service in it', value: n.spec ? <><Status word={services.word} /> {services.text}</> : <Muted>none</Muted> },
              { label: 'When no longer selected', value: s.cascade === 'delete' ? 'it is deleted with everything in it' : 'it stays' },
              { label: 'Changed', value: <Age at={n.updatedAt} after="ago" /> },
              { label: 'Managed by', value: <ManagedBy manager={n.managedBy} /> },
            ]}
          />
        ) : (
          !error && <SkeletonLines lines={4} />
        )}
      </Panel>
      <Suspense fallback={null}>
        {deleting && n && (
          <ActionDialog
            title={`Stop managing ${name}?`}
            submit="Delete"
            danger
            takeOver
            onClose={() => setDeleting(false)}
            run={async (takeOver) => {
              await unary(ManagedNamespaces.method.delete, { name, management: byConsole(takeOver) })
              await navigate({ to: '/rollouts', search: { tab: 'namespaces' } as never })
              await again()
              toast(`${name} is being deleted`)
            }}
          >
            {s?.cascade === 'delete' ? (
              <p>
                The namespace is deleted on {many(n.state?.services ?? 0, 'cluster')}, <b>with everything in it</b>: workloads, volumes and secrets. There is no undo.
              </p>
            ) : (
              <p>The namespace and its service stay on {many(n.state?.services ?? 0, 'cluster')}; the hub no longer keeps their labels and pull secrets. Undo: create it again with the same settings.</p>
            )}
          </ActionDialog>
        )}
      </Suspense>
    </>
  )
}
