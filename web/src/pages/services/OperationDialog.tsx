import { useEffect, useState } from 'react'
import { type Bulk, dryRunAbove, verbs } from './actions'
import styles from './services.module.css'
import { useAction } from '#/api/call'
import { Operations } from '#/api/gen/hub/v1/operations_pb'
import { Button } from '#/ds/Button'
import { Dialog } from '#/ds/Dialog'
import { TextArea } from '#/ds/Form'
import { SkeletonLines } from '#/ds/Skeleton'
import { Banner, ErrorPanel } from '#/ds/State'
import { count, many } from '#/ds/Text'
import { toast } from '#/ds/toast'
import { sizeOf } from '#/grid/select'

interface Props {
  bulk: Bulk
  onClose: () => void
  onStarted: () => void
}

// OperationDialog starts one action on many services. For more than 20, the hub
// first says what it would do.
export function OperationDialog({ bulk, onClose, onStarted }: Props) {
  const { action, selection, filter, total } = bulk
  const verb = verbs[action]
  const size = sizeOf(selection, total)
  const [reason, setReason] = useState('')
  const what = selection.all ? { filter, expected: BigInt(total) } : { serviceIds: [...selection.ids] }
  const dry = useAction(Operations.method.start)
  const start = useAction(Operations.method.start, (operation) => {
    onStarted()
    onClose()
    toast(`${verb.label} of ${many(operation.total, 'service')} requested`, { href: `/operations/${operation.id}`, label: 'Follow' })
  })
  const needsDry = size > dryRunAbove
  const { mutate: dryRun } = dry
  useEffect(() => {
    if (needsDry) dryRun({ action, ...what, dryRun: true })
    // oxlint-disable-next-line react/exhaustive-deps -- once, for what was selected when it opened
  }, [])
  const title = `${verb.label} ${many(size, 'service')}`
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" icon={verb.icon} busy={start.isPending} disabled={(needsDry && !dry.data) || (verb.reason && !reason.trim())} onClick={() => start.mutate({ action, ...what, reason: reason.trim() })}>
            {verb.label}
          </Button>
        </>
      }
    >
      <p>{verb.does}</p>
      {needsDry && dry.isPending && <SkeletonLines lines={3} />}
      {dry.error && <ErrorPanel title="The dry run failed; nothing was done" error={dry.error} retry={() => dryRun({ action, ...what, dryRun: true })} />}
      {dry.data && (
        <div className={styles.section}>
          <p>
            Dry run: {many(dry.data.total, 'service')} would be asked{dry.data.examples.length > 0 ? ', among them:' : '.'}
          </p>
          {dry.data.examples.length > 0 && (
            <ul className={styles.examples}>
              {dry.data.examples.map((e) => (
                <li key={e}>{e}</li>
              ))}
              {Number(dry.data.total) > dry.data.examples.length && <li>and {count(Number(dry.data.total) - dry.data.examples.length)} more</li>}
            </ul>
          )}
          {dry.data.forbidden > 0n && <Banner tone="warn">You may not write {many(dry.data.forbidden, 'of these services', 'of these services')}; the hub will refuse the operation.</Banner>}
        </div>
      )}
      {(verb.reason || reason) && <TextArea label="Reason" value={reason} maxLength={500} autoFocus onChange={setReason} hint="Needed. It goes into the event and the audit log." required />}
      {start.error && <ErrorPanel title={`${verb.label} was not started`} error={start.error} />}
    </Dialog>
  )
}
