import { useNavigate, useSearch } from '@tanstack/react-router'
import { CirclePause, Play, Undo2 } from 'lucide-react'
import { useState } from 'react'
import styles from '../Settings.module.css'
import { wordsOf } from '../pairs'
import { unary, useCall } from '#/api/call'
import { Agents } from '#/api/gen/hub/v1/hub_pb'
import { byConsole, declares, useAgain } from '#/api/manage'
import { session } from '#/api/session'
import { type Search, textOf } from '#/app/search'
import { ActionDialog } from '#/ds/ActionDialog'
import { Button } from '#/ds/Button'
import { Select, TextField } from '#/ds/Form'
import { ManagedBy } from '#/ds/ManagedBy'
import { Panel } from '#/ds/Panel'
import { SkeletonLines } from '#/ds/Skeleton'
import { Empty, ErrorPanel } from '#/ds/State'
import { Facts, Muted, many } from '#/ds/Text'
import { toast } from '#/ds/toast'
import { WaveMatrix } from '#/ds/WaveMatrix'
import { Age } from '#/status/Age'
import { Status } from '#/status/Status'

const soaks = [
  { value: '300000000', label: '5 minutes' },
  { value: '900000000', label: '15 minutes' },
  { value: '3600000000', label: '1 hour' },
  { value: '86400000000', label: '1 day' },
]

// AgentUpgradePanel shows and steers the last upgrade of the agents.
export function AgentUpgradePanel() {
  const search = useSearch({ strict: false }) as Search
  const navigate = useNavigate()
  const { data: u, error, refetch } = useCall(Agents.method.upgradeStatus, {})
  const again = useAgain(Agents.method.upgradeStatus)
  const [dialog, setDialog] = useState<'start' | 'pause' | 'resume' | 'abort'>()
  const [form, setForm] = useState({ version: '', image: '', waves: '1 1% 10% 100%', soak: '900000000', most: '' })
  const { admin } = session()
  const phase = u?.phase ?? ''
  const active = ['Progressing', 'Paused', 'Stopped', 'Aborting'].includes(phase)
  const of = (...states: string[]) => u?.targets.filter((t) => states.includes(t.state)).length ?? 0
  const set = (change: Partial<typeof form>) => setForm((f) => ({ ...f, ...change }))
  const after = (text: string) => async () => {
    await again()
    toast(text)
  }
  const close = () => setDialog(undefined)
  const waves = wordsOf(form.waves)
  return (
    <Panel
      title="Agent upgrade"
      aside={
        admin &&
        u && (
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
            {active && phase !== 'Aborting' && (
              <Button icon={Undo2} variant="danger" onClick={() => setDialog('abort')}>
                Abort
              </Button>
            )}
            {!active && <Button onClick={() => setDialog('start')}>Start an upgrade</Button>}
          </>
        )
      }
    >
      {error && !u && <ErrorPanel title="Can't read the upgrade of the agents" error={error} retry={() => void refetch()} />}
      {!u && !error && <SkeletonLines lines={2} />}
      {u && !phase && <Empty title="Agents were never upgraded">{<p>The hub upgrades them by itself after it was upgraded, in waves, unless a tool declares their version.</p>}</Empty>}
      {u && phase && (
        <div className={styles.stack}>
          <Facts
            facts={[
              { label: 'State', value: <Status word={phase} title={u.message || undefined} /> },
              { label: 'To version', value: `${u.version}${u.version === u.hubVersion ? ', the same as the hub' : `; the hub has ${u.hubVersion}`}` },
              { label: 'From version', value: u.previous || <Muted>none</Muted> },
              { label: 'Started', value: <><Age at={u.createdAt} after="ago" /> by {u.by}</> },
              { label: 'Managed by', value: <ManagedBy manager={u.managedBy} /> },
              ...(u.image ? [{ label: 'Image', value: u.image, wide: true }] : []),
              ...(u.message ? [{ label: 'Message', value: u.message, wide: true }] : []),
            ]}
          />
          {u.targets.length > 0 && <WaveMatrix targets={u.targets} waves={u.waves.length} names={u.waves} current={active ? u.wave : 0} filter={{ wave: textOf(search['wave']), state: textOf(search['state']) }} onFilter={(f) => void navigate({ to: '/settings/hub', search: { wave: f.wave || undefined, state: f.state || undefined } as never, replace: true, resetScroll: false })} />}
        </div>
      )}
      {dialog === 'start' && (
        <ActionDialog
          title="Upgrade the agents"
          submit="Start"
          takeOver
          onClose={close}
          check={() => (waves.length > 0 && waves.every((w) => /^[1-9]\d*%?$/.test(w)) ? (form.most && !/^[1-9]\d*%?$/.test(form.most) ? 'At once: a number or a percentage.' : undefined) : 'Waves: numbers of clusters or percentages, such as 1 10% 100%.')}
          run={(takeOver) => unary(Agents.method.startUpgrade, { version: form.version.trim(), image: form.image.trim(), waves, soakMicros: BigInt(form.soak), maxUnavailable: form.most, management: byConsole(takeOver) }).then(after('The upgrade has begun with the first wave'))}
        >
          {u && declares(u.managedBy) && <ManagedBy manager={u.managedBy} prefix />}
          <p>Agents restart with the new version, wave by wave; deploys wait for seconds on each cluster. A new agent that does not become healthy goes back by itself, and the upgrade stops. Undo: Abort, which rolls agents back.</p>
          <div className={styles.two}>
            <TextField label="Version" value={form.version} onChange={(version) => set({ version })} placeholder={u?.hubVersion ?? ''} hint="Empty is the hub's own." />
            <TextField label="Image" value={form.image} onChange={(image) => set({ image })} hint="Empty keeps each agent's registry." />
            <TextField label="Waves" value={form.waves} onChange={(waves) => set({ waves })} hint="Clusters or percentages, counted from the first." />
            <Select label="A wave is healthy for" value={form.soak} options={soaks} onChange={(soak) => set({ soak })} hint="Before the next begins." />
            <TextField label="At once" value={form.most} onChange={(most) => set({ most })} placeholder="all of a wave" />
          </div>
        </ActionDialog>
      )}
      {dialog === 'pause' && (
        <ActionDialog title="Pause the upgrade of the agents?" submit="Pause" onClose={close} run={() => unary(Agents.method.pauseUpgrade, {}).then(after('Paused: no further agent starts'))}>
          <p>
            No further agent is upgraded: {many(of('Waiting'), 'cluster')} left. The new agent stays on {many(of('Good', 'Placed'), 'cluster')}. Undo: Resume.
          </p>
        </ActionDialog>
      )}
      {dialog === 'resume' && (
        <ActionDialog title="Resume the upgrade of the agents?" submit="Resume" onClose={close} run={() => unary(Agents.method.resumeUpgrade, {}).then(after('Resumed'))}>
          <p>
            {of('Failed') > 0 && `The failures of ${many(of('Failed'), 'cluster')} are accepted. `}
            The upgrade goes on to {many(of('Waiting'), 'cluster')}, wave by wave. Undo: Pause, or Abort.
          </p>
        </ActionDialog>
      )}
      {dialog === 'abort' && (
        <ActionDialog title="Abort the upgrade of the agents?" submit="Abort and roll back" danger onClose={close} run={() => unary(Agents.method.abortUpgrade, {}).then(after('Aborted: agents go back'))}>
          <p>
            The agents of {many(of('Good', 'Placed', 'Failed'), 'cluster')} go back to {u?.previous || 'the former version'} at once. There is no undo: start the upgrade again.
          </p>
        </ActionDialog>
      )}
    </Panel>
  )
}
