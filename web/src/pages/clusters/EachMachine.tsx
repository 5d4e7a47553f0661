import { useState } from 'react'
import styles from './clusters.module.css'
import { ReplaceMachineDialog } from './ReplaceMachineDialog'
import { wordOfPhase } from './made'
import type { Cluster, ClusterOrigin, MadeMachine, MadeState } from '#/api/gen/hub/v1/hub_pb'
import { useMay } from '#/api/may'
import { Button } from '#/ds/Button'
import { type Col, Listing } from '#/ds/Listing'
import { Panel } from '#/ds/Panel'
import { Muted, count } from '#/ds/Text'
import { Age } from '#/status/Age'
import { Status } from '#/status/Status'

const cols: Col<MadeMachine>[] = [
  { id: 'name', header: 'Machine', cell: (m) => <span className={styles.oneLine}>{m.name}</span> },
  { id: 'pool', header: 'Pool', cell: (m) => m.pool || 'Control plane' },
  { id: 'phase', header: 'Phase', cell: (m) => <Status word={wordOfPhase(m.phase)} label={m.phase} title="the phase, in the words of Cluster API" /> },
  { id: 'node', header: 'Node', cell: (m) => (m.node === m.name ? <span className={styles.oneLine}><Muted>the same</Muted></span> : m.node) },
  { id: 'age', header: 'Age', cell: (m) => <Age at={m.createdAt} never="unknown" /> },
  { id: 'message', header: 'Message', grow: true, cell: (m) => m.message },
]

// EachMachine are the machines of a cluster from a template; those of a node pool can be replaced.
export function EachMachine({ cluster, origin, state }: { cluster: Pick<Cluster, 'name'>; origin: Pick<ClusterOrigin, 'destroying' | 'replacements'>; state: MadeState }) {
  const may = useMay('write', { cluster: cluster.name })
  const [replacing, setReplacing] = useState<MadeMachine>()
  const begun = new Map(origin.replacements.filter((r) => r.endedAt === 0n).map((r) => [r.uid, r.message]))
  const rows = state.machines.map((m) => (begun.has(m.uid) ? { ...m, message: `is being replaced: ${begun.get(m.uid) || 'not reported on yet'}` } : m))
  const replace = (m: MadeMachine) =>
    m.pool !== '' && (
      <Button disabled={origin.destroying || begun.has(m.uid)} onClick={() => setReplacing(m)}>
        Replace…
      </Button>
    )
  return (
    <Panel title="Each machine" flush aside={state.moreMachines > 0 && `${count(state.moreMachines)} more are ready`}>
      <Listing
        label="Each machine"
        cols={cols}
        rows={rows}
        idOf={(m) => m.uid || m.name}
        empty={null}
        actions={may.allowed === true ? replace : undefined}
      />
      {replacing && <ReplaceMachineDialog cluster={cluster.name} machine={replacing} onClose={() => setReplacing(undefined)} />}
    </Panel>
  )
}
