import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { RollbackDialog } from './RollbackDialog'
import { type Action, verbs } from './actions'
import { keyOf, useAction } from '#/api/call'
import { Services } from '#/api/gen/hub/v1/hub_pb'
import { Button } from '#/ds/Button'
import { Dialog } from '#/ds/Dialog'
import { TextArea } from '#/ds/Form'
import { ErrorPanel } from '#/ds/State'
import { toast } from '#/ds/toast'

export interface Target {
  cluster: string
  name: string
  // What it follows: a branch, a tag, a range of versions.
  follows: string
}

interface Props {
  action: Action
  target: Target
  // Of a rollback; 0 is the revision before the current one.
  revision?: bigint | undefined
  onClose: () => void
}

const methods = { sync: Services.method.sync, pause: Services.method.pause, resume: Services.method.resume }

// SingleAction does one thing with one service. What needs no answer from the
// person is done at once, and shows itself only when it fails.
export function SingleAction({ action, target, revision = 0n, onClose }: Props) {
  if (action === 'rollback') return <RollbackDialog target={target} to={revision} onClose={onClose} />
  return <Simple action={action} target={target} onClose={onClose} />
}

function Simple({ action, target, onClose }: { action: 'sync' | 'pause' | 'resume'; target: Target; onClose: () => void }) {
  const verb = verbs[action]
  const client = useQueryClient()
  const ref = { cluster: target.cluster, name: target.name }
  const [reason, setReason] = useState('')
  const name = `${target.cluster}/${target.name}`
  const call = useAction(methods[action] as typeof Services.method.pause, (service) => {
    client.setQueryData(keyOf(Services.method.get, { ref }), service)
    onClose()
    toast(action === 'sync' ? `Sync of ${name} requested; the agent does it at its next poll` : `${name} is ${action === 'pause' ? 'paused' : 'resumed'}`)
  })
  const { mutate } = call
  const begun = useRef(false)
  const asks = action === 'pause'
  useEffect(() => {
    if (asks || begun.current) return
    begun.current = true
    mutate({ ref: { cluster: target.cluster, name: target.name } })
  }, [asks, mutate, target.cluster, target.name])
  const run = () => mutate(asks ? { ref, reason: reason.trim() } : { ref })
  if (!asks && !call.error) return null
  return (
    <Dialog
      title={`${verb.label} ${name}`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" icon={verb.icon} busy={call.isPending} onClick={run}>
            {call.error ? 'Try again' : verb.label}
          </Button>
        </>
      }
    >
      <p>{verb.does}</p>
      {asks && <TextArea label="Reason" value={reason} maxLength={500} autoFocus onChange={setReason} hint="Goes into the event and the audit log." />}
      {call.error && <ErrorPanel title={`${verb.label} failed`} error={call.error} />}
    </Dialog>
  )
}
