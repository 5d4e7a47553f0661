import { useQueryClient } from '@tanstack/react-query'
import { History } from 'lucide-react'
import { useState } from 'react'
import type { Target } from './SingleAction'
import { Differences } from './tabs/Differences'
import { keyOf, useAction, useCall } from '#/api/call'
import { Services } from '#/api/gen/hub/v1/hub_pb'
import { Button } from '#/ds/Button'
import { Dialog } from '#/ds/Dialog'
import { Select, TextArea } from '#/ds/Form'
import { SkeletonLines } from '#/ds/Skeleton'
import { Banner, ErrorPanel } from '#/ds/State'
import { Muted, short } from '#/ds/Text'
import { toast } from '#/ds/toast'
import { problemOf } from '#/api/errors'

interface Props {
  target: Target
  // The revision to go back to; 0 is the one before the current.
  to: bigint
  onClose: () => void
}

// RollbackDialog says what a rollback means before it is done: what changes in
// the cluster, and that the service stops following its source.
export function RollbackDialog({ target: service, to, onClose }: Props) {
  const ref = { cluster: service.cluster, name: service.name }
  const client = useQueryClient()
  const revisions = useCall(Services.method.listRevisions, { ref })
  const others = (revisions.data?.revisions ?? []).filter((r) => !r.current)
  const [chosen, setChosen] = useState(to)
  const [reason, setReason] = useState('')
  const target = others.find((r) => r.number === chosen) ?? others[0]
  const rollback = useAction(Services.method.rollback, () => {
    void client.invalidateQueries({ queryKey: keyOf(Services.method.get, { ref }) })
    void client.invalidateQueries({ queryKey: keyOf(Services.method.listRevisions, { ref }) })
    onClose()
    toast(`Rollback of ${service.name} to revision ${target?.number} requested`)
  })
  return (
    <Dialog
      title={`Roll back ${service.cluster}/${service.name}`}
      wide
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" icon={History} busy={rollback.isPending} disabled={!target || !reason.trim()} onClick={() => target && rollback.mutate({ ref, revision: target.number, reason: reason.trim() })}>
            Roll back
          </Button>
        </>
      }
    >
      {revisions.error && <ErrorPanel title="Can't read the revisions" error={revisions.error} retry={() => void revisions.refetch()} />}
      {revisions.data && others.length === 0 && <Banner tone="idle">There is no earlier revision to go back to.</Banner>}
      {others.length > 0 && (
        <Select
          label="Revision"
          value={String(target?.number ?? '')}
          options={others.map((r) => ({ value: String(r.number), label: `${r.number}  ${short(r.sourceRevision)}  ${r.message.split('\n')[0]}` }))}
          onChange={(v) => setChosen(BigInt(v))}
        />
      )}
      {target && (
        <>
          <Banner tone="warn">
            This pins the service to revision {String(target.number)} ({short(target.sourceRevision)}): it stops following {service.follows || 'its source'}. Resume is in the banner on its page.
          </Banner>
          <TextArea label="Reason" value={reason} maxLength={500} required onChange={setReason} hint="Required. It goes into the revision, the event and the audit log." />
          <Preview key={String(target.number)} service={service} revision={target.number} />
        </>
      )}
      {rollback.error && <ErrorPanel title="It was not rolled back" error={rollback.error} />}
    </Dialog>
  )
}

// Preview asks the agent what the rollback would change; it answers at its next
// poll, and nobody has to wait for that.
function Preview({ service, revision }: { service: Target; revision: bigint }) {
  const ref = { cluster: service.cluster, name: service.name }
  const asked = useCall(Services.method.preview, { ref, revision }, { staleTime: Infinity })
  const request = asked.data?.requested ?? 0n
  const answer = useCall(Services.method.preview, { ref, request }, { enabled: request > 0n && (asked.data?.answered ?? 0n) < request, refetchInterval: (query) => ((query.state.data?.answered ?? 0n) >= request ? false : 1_500) })
  const diff = (answer.data?.answered ?? 0n) >= request && request > 0n ? answer.data : (asked.data?.answered ?? 0n) >= request && request > 0n ? asked.data : undefined
  const error = asked.error ?? answer.error
  if (error) return <Muted>No preview of the changes: {problemOf(error).message}</Muted>
  if (!diff) {
    return (
      <div>
        <Muted>Asking the agent what would change; it answers at its next poll. You can roll back without waiting.</Muted>
        <SkeletonLines lines={2} />
      </div>
    )
  }
  if (diff.error) return <Banner tone="bad">{diff.error}</Banner>
  if (diff.differences.length === 0) return <Banner tone="idle">Nothing in the cluster would change.</Banner>
  return <Differences diff={diff} split={false} />
}
