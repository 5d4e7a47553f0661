import { ShieldAlert } from 'lucide-react'
import { useState } from 'react'
import { AgentUpgradePanel } from './AgentUpgradePanel'
import { Replicas } from './Replicas'
import { SyncWindowsPanel } from './SyncWindowsPanel'
import styles from '../Settings.module.css'
import { unary, useCall } from '#/api/call'
import { Hub } from '#/api/gen/hub/v1/hub_pb'
import { useAgain } from '#/api/manage'
import { session } from '#/api/session'
import { ActionDialog } from '#/ds/ActionDialog'
import { Button } from '#/ds/Button'
import { Command } from '#/ds/Copy'
import { Forbidden } from '#/ds/Forbidden'
import { PageHeader } from '#/ds/PageHeader'
import { Panel } from '#/ds/Panel'
import { SkeletonLines } from '#/ds/Skeleton'
import { Banner, Empty, ErrorPanel } from '#/ds/State'
import { Facts, Muted, count } from '#/ds/Text'
import { toast } from '#/ds/toast'
import { Age, Until } from '#/status/Age'
import { Status } from '#/status/Status'
import { bytesText } from './bytes'
import { isCode } from '#/api/errors'
import { Code } from '@connectrpc/connect'

// As their makers write them.
const databases: Record<string, string> = { sqlite: 'SQLite', postgres: 'PostgreSQL' }

export function Page() {
  const { admin, name } = session()
  const { data: hub, error, refetch } = useCall(Hub.method.status, {})
  const again = useAgain(Hub.method.status)
  const [dialog, setDialog] = useState<'confirm' | 'rotate'>()
  const forbidden = isCode(error, Code.PermissionDenied)
  const b = hub?.backups
  return (
    <>
      <PageHeader title="Hub">{hub && <p>{`Axle ${hub.version} on ${databases[hub.database] ?? hub.database}, ${hub.replicas.filter((r) => r.alive).length} of ${hub.replicas.length} replicas alive.`}</p>}</PageHeader>
      {hub?.deletesHeld && (
        <Banner
          tone="bad"
          icon={ShieldAlert}
          actions={
            admin && (
              <Button variant="danger" onClick={() => setDialog('confirm')}>
                Confirm the restore
              </Button>
            )
          }
        >
          <b>The hub was restored{hub.restoredFrom && ` from ${hub.restoredFrom}`}, and deletes are held.</b> Services that the backup does not have may still run on clusters: agents delete nothing until an administrator confirms. Look at the Held services first.
        </Banner>
      )}
      {forbidden ? (
        <Forbidden what="see the hub's state" needs="read on the whole hub" command={`axle auth bind --user ${name} --action read --global`} />
      ) : (
        <>
          {error && <ErrorPanel title="Can't read the hub's state" error={error} retry={() => void refetch()} />}
          <Panel
            title="State"
            aside={
              admin && (
                <Button variant="quiet" onClick={() => setDialog('rotate')}>
                  Rotate the signing key
                </Button>
              )
            }
          >
            {hub ? (
              <Facts
                facts={[
                  { label: 'Version', value: hub.version },
                  { label: 'Started', value: <Age at={hub.startedAt} after="ago" /> },
                  { label: 'Database', value: databases[hub.database] ?? hub.database },
                  { label: 'Change feed', value: `${count(hub.sequence)} of ${count(hub.feedSequence)} changes read` },
                  { label: 'Incarnation', value: <code>{hub.incarnation}</code> },
                ]}
              />
            ) : (
              !error && <SkeletonLines lines={2} />
            )}
          </Panel>
          <Replicas hub={hub} again={again} />
          <Panel title="Backups">
            {b ? (
              <Facts
                facts={[
                  { label: 'State', value: b.failedAt ? <Status word="Failed" at={b.failedAt} /> : b.runningSince ? <Status word="Running" at={b.runningSince} /> : <Status word="Done" label="On schedule" /> },
                  { label: 'Last', value: b.lastAt ? <><Age at={b.lastAt} after="ago" />, {bytesText(b.lastBytes)}</> : <Muted>none yet</Muted> },
                  { label: 'Next', value: <Until at={b.dueAt} past="due now" /> },
                  { label: 'Schedule (UTC)', value: <code>{b.schedule}</code> },
                  { label: 'To', value: b.to, wide: true },
                  ...(b.lastName ? [{ label: 'Name', value: b.lastName, wide: true }] : []),
                  ...(b.failure ? [{ label: 'Why it failed', value: b.failure, wide: true }] : []),
                ]}
              />
            ) : hub ? (
              <Empty title="No backups are scheduled">
                <p>Without a backup, a lost database is a lost hub. Schedule them with the hub's flags, or by hand:</p>
                <Command command="axle-hub serve --data-dir DIR --backup-to s3://backups/axle --backup-schedule '0 3 * * *'" />
              </Empty>
            ) : (
              !error && <SkeletonLines lines={2} />
            )}
          </Panel>
        </>
      )}
      <SyncWindowsPanel />
      <AgentUpgradePanel />
      {dialog === 'confirm' && hub && (
        <ActionDialog
          title="Confirm the restore?"
          submit="Let agents delete again"
          danger
          onClose={() => setDialog(undefined)}
          run={async () => {
            await unary(Hub.method.confirmRestore, {})
            await again()
            toast('Confirmed: agents delete and apply again')
          }}
        >
          <p>Agents then delete from their clusters what this backup does not know or marks as deleted: services and objects that were made after the backup. Held services (reason Restored) are applied as the backup has them.</p>
          <p className={styles.muted}>There is no undo for what is deleted. Before, compare with the clusters: services that are Held, and what git has.</p>
        </ActionDialog>
      )}
      {dialog === 'rotate' && (
        <ActionDialog
          title="Rotate the signing key?"
          submit="Create a new key"
          danger
          onClose={() => setDialog(undefined)}
          run={async () => {
            const made = await unary(Hub.method.rotateSigningKey, {})
            toast(`Key ${made.keyId} was created and takes over after all agents have learned it`)
          }}
        >
          <p>The hub creates a new key for what it signs for agents. Agents learn it at their polls, and it takes over later; nothing stops. An agent that is offline until then has to be connected again.</p>
        </ActionDialog>
      )}
    </>
  )
}

