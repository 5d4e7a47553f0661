import { useState } from 'react'
import { unary } from '#/api/call'
import { type Cluster, Clusters } from '#/api/gen/hub/v1/hub_pb'
import { byConsole, useAgain } from '#/api/manage'
import { ActionDialog } from '#/ds/ActionDialog'
import { TextField } from '#/ds/Form'
import { toast } from '#/ds/toast'

// DestroyClusterDialog removes the machines of a cluster from a template.
export function DestroyClusterDialog({ cluster: { name, origin }, onClose }: { cluster: Pick<Cluster, 'name' | 'origin'>; onClose: () => void }) {
  const [typed, setTyped] = useState('')
  const again = useAgain(Clusters.method.get)
  const run = async (takeOver: boolean) => {
    await unary(Clusters.method.destroy, { name, management: byConsole(takeOver) })
    await again()
    toast(`${name} is being destroyed`)
  }
  return (
    <ActionDialog title={`Destroy the cluster ${name}`} submit="Destroy" danger takeOver run={run} check={() => (typed === name ? undefined : `Type ${name} to confirm.`)} onClose={onClose}>
      <p>First its own agent removes the load balancers, and the volumes that are not retained, whoever made them.</p>
      <p>
        Then {origin?.managementCluster} deletes the Cluster object and waits until Cluster API has removed the machines. Finally the objects of the template and the namespace go, and the cluster leaves the hub. Nothing brings it back.
      </p>
      <TextField label={`Type ${name} to confirm`} value={typed} onChange={setTyped} autoComplete="off" spellCheck={false} />
    </ActionDialog>
  )
}
