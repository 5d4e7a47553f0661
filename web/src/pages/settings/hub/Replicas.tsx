import { useState } from 'react'
import { bytesText } from './bytes'
import { unary } from '#/api/call'
import { Hub, type HubStatus, type Replica } from '#/api/gen/hub/v1/hub_pb'
import { session } from '#/api/session'
import { ActionDialog } from '#/ds/ActionDialog'
import { Button } from '#/ds/Button'
import { type Col, Listing } from '#/ds/Listing'
import { Panel } from '#/ds/Panel'
import { Muted, count, many } from '#/ds/Text'
import { toast } from '#/ds/toast'
import { Age } from '#/status/Age'
import { spanOf } from '#/status/age'
import { Status } from '#/status/Status'

function Condition({ replica: r }: { replica: Replica }) {
  if (!r.alive) return <Status word="Failed" label={r.draining ? 'Stopped' : 'Silent'} at={r.seenAt} title="it sent no heartbeat lately" />
  if (r.leaving) return <Status word="Paused" label="Drained" title="it owns no repositories any more" />
  if (r.draining) return <Status word="Progressing" label="Stopping" />
  return <Status word="Healthy" label="Alive" at={r.seenAt} />
}

// lagText says how far a replica is behind the change feed.
function lagText(r: Replica, hub: HubStatus | undefined): string {
  const behind = hub ? hub.feedSequence - r.sequence : 0n
  return behind > 0n ? `${count(behind)} behind, read ${spanOf(Number(r.feedAgeMicros) / 1_000)} ago` : `read ${spanOf(Number(r.feedAgeMicros) / 1_000)} ago`
}

export function Replicas({ hub, again }: { hub: HubStatus | undefined; again: () => Promise<void> }) {
  const [draining, setDraining] = useState<Replica>()
  const cols: Col<Replica>[] = [
    { id: 'state', header: 'State', cell: conditionOf },
    { id: 'name', header: 'Replica', grow: true, cell: (r) => r.name },
    { id: 'version', header: 'Version', cell: (r) => r.version },
    { id: 'started', header: 'Started', cell: startedOf },
    { id: 'repositories', header: 'Repositories', align: 'end', cell: (r) => r.repositories },
    { id: 'feed', header: 'Change feed', cell: (r) => lagText(r, hub) },
    { id: 'disk', header: 'Disk free', cell: diskOf },
  ]
  const actions = (r: Replica) => (
    <Button variant="quiet" onClick={() => setDraining(r)} aria-label={r.leaving ? `Let ${r.name} own repositories again` : `Drain ${r.name}`}>
      {r.leaving ? 'Undo the drain' : 'Drain'}
    </Button>
  )
  return (
    <Panel title="Replicas" flush aside={hub && many(hub.replicas.length, 'replica')}>
      <Listing label="Replicas" cols={cols} rows={hub?.replicas} idOf={(r) => r.name} {...(session().admin && (hub?.replicas.length ?? 0) > 1 ? { actions } : {})} empty={null} />
      {draining && (
        <ActionDialog
          title={draining.leaving ? `Let ${draining.name} own repositories again?` : `Drain ${draining.name}?`}
          submit={draining.leaving ? 'Undo the drain' : 'Drain'}
          onClose={() => setDraining(undefined)}
          run={async () => {
            await unary(Hub.method.drain, { replica: draining.name, undo: draining.leaving })
            await again()
            toast(draining.leaving ? `${draining.name} owns repositories again` : `${draining.name} gives up its repositories`)
          }}
        >
          <p>{draining.leaving ? 'Repositories are placed on it again as they are balanced.' : `Its ${many(draining.repositories, 'repository', 'repositories')} move to the other replicas, without a stop of fetches or deploys. Then it can be removed. Undo: here.`}</p>
        </ActionDialog>
      )}
    </Panel>
  )
}

function conditionOf(r: Replica) {
  return <Condition replica={r} />
}

function startedOf(r: Replica) {
  return <Age at={r.startedAt} after="ago" />
}

function diskOf(r: Replica) {
  if (!r.diskTotal) return <Muted>unknown</Muted>
  return `${bytesText(r.diskFree)} of ${bytesText(r.diskTotal)}`
}
