import { unary } from '#/api/call'
import { Clusters, type MadeMachine } from '#/api/gen/hub/v1/hub_pb'
import { useAgain } from '#/api/manage'
import { ActionDialog } from '#/ds/ActionDialog'
import { toast } from '#/ds/toast'

// ReplaceMachineDialog replaces the machine that the person saw, and no later one of its name.
export function ReplaceMachineDialog({ cluster, machine: { name, uid, pool }, onClose }: { cluster: string; machine: Pick<MadeMachine, 'name' | 'uid' | 'pool'>; onClose: () => void }) {
  const again = useAgain(Clusters.method.get)
  const run = async () => {
    await unary(Clusters.method.replaceMachine, { name: cluster, machine: name, uid })
    await again()
    toast(`${name} is being replaced`)
  }
  return (
    <ActionDialog title={`Replace the machine ${name}`} submit="Replace" danger run={run} onClose={onClose}>
      <p>Cluster API evicts its pods, removes it, and then makes another one in the pool {pool}. Nothing brings this one back.</p>
      <p>The other machines take its pods meanwhile: scale the pool by one first where they have no room. A PodDisruptionBudget holds it up, which its row shows.</p>
    </ActionDialog>
  )
}
