import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { CirclePause, Play, Trash2, TriangleAlert, Undo2 } from 'lucide-react'
import { Suspense, lazy, useState } from 'react'
import { Failures } from './Failures'
import { deleteText, planOf, reachText, selectionOf, stateOf } from './text'
import { keyOf, unary, useCall } from '#/api/call'
import { GlobalServices } from '#/api/gen/hub/v1/globals_pb'
import { byConsole, useAgain } from '#/api/manage'
import { useMay } from '#/api/may'
import { type Search, textOf } from '#/app/search'
import { Button } from '#/ds/Button'
import { Command } from '#/ds/Copy'
import { Crumbs } from '#/ds/Crumbs'
import { MayNot } from '#/ds/Forbidden'
import { ManagedBy } from '#/ds/ManagedBy'
import { PageHeader } from '#/ds/PageHeader'
import { Panel } from '#/ds/Panel'
import { SkeletonLines } from '#/ds/Skeleton'
import { Banner, Empty, ErrorPanel } from '#/ds/State'
import { Facts, Hash, count, many } from '#/ds/Text'
import { toast } from '#/ds/toast'
import { WaveMatrix } from '#/ds/WaveMatrix'
import { useHint } from '#/live/useLive'
import { Age } from '#/status/Age'
import { Status } from '#/status/Status'

const ActionDialog = lazy(() => import('#/ds/ActionDialog').then((m) => ({ default: m.ActionDialog })))

export function Page() {
  const { name } = useParams({ strict: false }) as { name: string }
  const search = useSearch({ strict: false }) as Search
  const navigate = useNavigate()
  const [dialog, setDialog] = useState<'pause' | 'resume' | 'abort' | 'delete'>()
  const g = useCall(GlobalServices.method.get, { name })
  const r = useCall(GlobalServices.method.getRollout, { name })
  const global = g.data
  const rollout = r.data
  const project = global?.settings?.project
  const may = useMay('write', project ? { project } : {}, global !== undefined)
  const again = useAgain(GlobalServices.method.list, GlobalServices.method.get, GlobalServices.method.getRollout)
  useHint(['rollouts'], keyOf(GlobalServices.method.get), keyOf(GlobalServices.method.getRollout))
  const phase = rollout?.phase ?? ''
  const states = rollout?.states ?? {}
  const all = Object.values(states).reduce((a, b) => a + b, 0)
  const has = (states['Good'] ?? 0) + (states['Placed'] ?? 0) + (states['Failed'] ?? 0)
  const state = stateOf(global?.state)
  const after = (text: string) => async () => {
    await again()
    toast(text)
  }
  const filter = { wave: textOf(search['wave']), state: textOf(search['state']) }
  return (
    <>
      <PageHeader
        title={name}
        crumbs={<Crumbs items={[{ label: 'Rollouts', to: '/rollouts' }]} />}
        beside={
          <>
            {phase && <Status word={phase} chip title={rollout?.message || undefined} />}
            {global && <Status word={state.word} label={reachText(state.text, phase, has)} />}
          </>
        }
        actions={
          may.allowed === true && (
            <>
              {phase === 'Progressing' && (
                <Button icon={CirclePause} onClick={() => setDialog('pause')}>
                  Pause
                </Button>
              )}
              {(phase === 'Paused' || phase === 'Stopped') && (
                <Button icon={Play} variant="primary" onClick={() => setDialog('resume')}>
                  Resume
                </Button>
              )}
              {['Progressing', 'Paused', 'Stopped'].includes(phase) && (
                <Button icon={Undo2} variant="danger" onClick={() => setDialog('abort')}>
                  Abort
                </Button>
              )}
              <Button icon={Trash2} variant="danger" onClick={() => setDialog('delete')}>
                Delete
              </Button>
            </>
          )
        }
      >
        {may.allowed === false && <MayNot what="steer this rollout" reason={may.reason} />}
      </PageHeader>
      {g.error && <ErrorPanel title={`Can't read the global service ${name}`} error={g.error} retry={() => void g.refetch()} />}
      {phase === 'Stopped' && (
        <Banner tone="bad" icon={TriangleAlert}>
          <b>The rollout stopped.</b> {rollout?.message.replace(/[^.]$/, '$&.')} Resume accepts the failures so far; Abort takes all clusters back.
        </Banner>
      )}
      {phase === 'Aborted' && (
        <Banner tone="warn" icon={Undo2}>
          <b>The last change was taken back.</b> The clusters keep the former template, although the new one is declared. Apply the former one, or the next one, which begins a new rollout.
        </Banner>
      )}
      <Failures failures={global?.state?.failures ?? []} failing={global?.state?.failing ?? 0} />
      <Panel title="Rollout" flush aside={rollout?.updatedAt ? <>changed <Age at={rollout.updatedAt} after="ago" /></> : undefined}>
        {r.error && !rollout ? (
          <ErrorPanel title="Can't read the rollout" error={r.error} retry={() => void r.refetch()} />
        ) : rollout?.phase ? (
          <>
            {all > rollout.clusters.length && <Banner tone="idle">The {count(rollout.clusters.length)} worst of {many(all, 'cluster')} are counted here.</Banner>}
            <WaveMatrix targets={rollout.clusters} waves={rollout.waves} names={rollout.plan?.waves ?? []} current={phase === 'Done' ? 0 : rollout.wave} filter={filter} onFilter={(f) => void navigate({ to: '/rollouts/$name', params: { name }, search: { ...search, wave: f.wave || undefined, state: f.state || undefined } as never, replace: true, resetScroll: false })} />
          </>
        ) : (
          rollout && (
            <Empty title="No change has rolled out yet">
              <p>When the template changes, its waves and clusters are shown here.</p>
              <Command command={`axle globalservices apply ${name} --ref v2`} />
            </Empty>
          )
        )}
      </Panel>
      <Panel title="Global service">
        {global ? (
          <Facts
            facts={[
              { label: 'Runs on', value: selectionOf(global.settings), wide: true },
              { label: 'How a change rolls out', value: planOf(global.settings?.rollout), wide: true },
              { label: 'Template', value: global.spec ? [global.spec.repository, global.spec.git?.ref, global.spec.git?.folder].filter(Boolean).join(' / ') || 'no Git source' : 'none' },
              ...(rollout?.phase ? [{ label: 'Rolls out', value: <><Hash revision={rollout.version} /> after <Hash revision={rollout.previous} /></> }, { label: 'Started by', value: rollout.startedBy || 'the hub' }] : []),
              { label: 'Services', value: <Link to="/services" search={{ global_service: name } as never}>{many(global.state?.services ?? 0, 'service')}</Link> },
              { label: 'When no longer wanted', value: deleteText(global.settings?.cascade ?? ''), wide: true },
              { label: 'Changed', value: <Age at={global.updatedAt} after="ago" /> },
              { label: 'Managed by', value: <ManagedBy manager={global.managedBy} /> },
            ]}
          />
        ) : (
          !g.error && <SkeletonLines lines={4} />
        )}
      </Panel>
      <Suspense fallback={null}>
        {dialog === 'pause' && (
          <ActionDialog title={`Pause the rollout of ${name}?`} submit="Pause" onClose={() => setDialog(undefined)} run={() => unary(GlobalServices.method.pauseRollout, { name }).then(after('Paused: no further cluster starts'))}>
            <p>No further cluster gets the change. It stays on {many(has, 'cluster')}. Undo: Resume.</p>
          </ActionDialog>
        )}
        {dialog === 'resume' && (
          <ActionDialog title={`Resume the rollout of ${name}?`} submit="Resume" onClose={() => setDialog(undefined)} run={() => unary(GlobalServices.method.resumeRollout, { name }).then(after('Resumed'))}>
            <p>
              {(states['Failed'] ?? 0) > 0 ? `The failures of ${many(states['Failed']!, 'cluster')} are accepted: they no longer count against the limit. ` : ''}
              The change goes on to {many(states['Waiting'] ?? 0, 'cluster')}, wave by wave. Undo: Pause, or Abort.
            </p>
          </ActionDialog>
        )}
        {dialog === 'abort' && (
          <ActionDialog title={`Abort the rollout of ${name}?`} submit="Abort and take back" danger onClose={() => setDialog(undefined)} run={() => unary(GlobalServices.method.abortRollout, { name }).then(after('Aborted: the clusters go back'))}>
            <p>The former template comes back on {many(has, 'cluster')} at once, without waves. The others have it still.</p>
            <p>There is no undo: to roll it out again, apply the new template once more.</p>
          </ActionDialog>
        )}
        {dialog === 'delete' && global && (
          <ActionDialog
            title={`Delete the global service ${name}?`}
            submit="Delete the global service"
            danger
            takeOver
            onClose={() => setDialog(undefined)}
            run={async (takeOver) => {
              await unary(GlobalServices.method.delete, { name, management: byConsole(takeOver) })
              await again()
              toast(`${name} is being deleted`)
            }}
          >
            <p>{deleteText(global.settings?.cascade ?? '', global.state?.services ?? 0)}</p>
            <p>There is no undo. Its cascade, which can be changed before, decides about the services.</p>
          </ActionDialog>
        )}
      </Suspense>
    </>
  )
}
