import { useState } from 'react'
import { useAction } from '#/api/call'
import { type Cluster, Clusters } from '#/api/gen/hub/v1/hub_pb'
import { Button } from '#/ds/Button'
import { Dialog } from '#/ds/Dialog'
import { Checkbox, TextField } from '#/ds/Form'
import { Banner, ErrorPanel } from '#/ds/State'
import { many } from '#/ds/Text'
import { toast } from '#/ds/toast'

interface Props {
  cluster: Cluster
  onClose: () => void
  onDeleted: () => void
}

export function DeleteClusterDialog({ cluster, onClose, onDeleted }: Props) {
  const [typed, setTyped] = useState('')
  const [detach, setDetach] = useState(false)
  const { origin } = cluster
  const needsDetach = cluster.services > 0 || origin !== undefined
  const remove = useAction(Clusters.method.delete, () => {
    toast(`${cluster.name} is deleted`)
    onDeleted()
  })
  return (
    <Dialog
      title={`Delete the cluster ${cluster.name}`}
      alert
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="danger" busy={remove.isPending} disabled={typed !== cluster.name || (needsDetach && !detach)} onClick={() => remove.mutate({ name: cluster.name, detach, management: { by: { tool: 'console' } } })}>
            Delete
          </Button>
        </>
      }
    >
      <p>Its agent can no longer reach the hub. The objects that it applied stay in the cluster.</p>
      {origin && (
        <p>
          Its machines run on: {origin.managementCluster} detaches the service that makes them, and Cluster API keeps them as they are. To remove them, destroy the cluster instead. A bootstrap token connects it again.
        </p>
      )}
      {cluster.services > 0 && <Banner tone="warn">{many(cluster.services, 'service')} of it would go from the hub too, and their objects would stay without an owner.</Banner>}
      {needsDetach && <Checkbox label={origin ? 'Detach it: keep the machines, and all objects where they are' : 'Detach the services: leave their objects on the cluster'} checked={detach} onChange={setDetach} />}
      <TextField label={`Type ${cluster.name} to confirm`} value={typed} onChange={setTyped} autoComplete="off" />
      {remove.error && <ErrorPanel title="It was not deleted" error={remove.error} />}
    </Dialog>
  )
}
