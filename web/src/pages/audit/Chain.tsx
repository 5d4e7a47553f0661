import { ShieldCheck, TriangleAlert } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { unary, useCall } from '#/api/call'
import { Audit, type VerifyAuditResponse } from '#/api/gen/hub/v1/audit_pb'
import { Button } from '#/ds/Button'
import { Banner, ErrorPanel } from '#/ds/State'
import { count, many } from '#/ds/Text'
import { Age } from '#/status/Age'
import styles from './Audit.module.css'

// Chain checks the hash chain of the log. It reads everything, so it runs when
// asked; how old the last signed checkpoint is shows at once.
export function Chain() {
  const [running, setRunning] = useState(false)
  const [answer, setAnswer] = useState<VerifyAuditResponse>()
  const [records, setRecords] = useState(0n)
  const [error, setError] = useState<unknown>()
  const stop = useRef<AbortController>(undefined)
  const checkpoints = useCall(Audit.method.checkpoints, {}, { staleTime: 60_000 })
  const last = checkpoints.data?.checkpoints.findLast((c) => c.kind === 'seen')
  useEffect(() => () => stop.current?.abort(), [])
  const verify = async () => {
    stop.current = new AbortController()
    setRunning(true)
    setError(undefined)
    setAnswer(undefined)
    let seq = 0n
    let hash = ''
    let read = 0n
    try {
      for (;;) {
        const part = await unary(Audit.method.verify, { seq, hash }, stop.current.signal)
        read += part.records
        setRecords(read)
        if (part.done || part.broken > 0n || (part.seq === seq && part.records === 0n)) {
          setAnswer(part)
          break
        }
        seq = part.seq
        hash = part.hash
      }
    } catch (e) {
      if (!stop.current.signal.aborted) setError(e)
    } finally {
      setRunning(false)
    }
  }
  return (
    <>
      <div className={styles.foot}>
        <span>
          {last ? (
            <>
              The end of the log was signed <Age at={last.at} after="ago" />, up to record {count(last.seq)}.
            </>
          ) : (
            checkpoints.data && 'The log has not been signed yet.'
          )}
        </span>
        <Button icon={ShieldCheck} busy={running} onClick={() => void verify()}>
          {running ? `Verifying, ${count(records)} records` : 'Verify the chain'}
        </Button>
      </div>
      {error !== undefined && <ErrorPanel title="The chain could not be verified" error={error} />}
      {answer?.done && answer.broken === 0n && (
        <Banner tone="idle" icon={ShieldCheck}>
          <b>The chain is intact</b> up to record {count(answer.seq)}: {many(records, 'record')}
          {answer.from > 1n && ` from ${count(answer.from)} on; retention removed what was before`}. No record was edited, deleted, inserted or moved. Somebody who can rewrite the whole database leaves no trace here: keep checkpoints elsewhere with axle audit checkpoint --file.
        </Banner>
      )}
      {answer && answer.broken > 0n && (
        <Banner tone="bad" icon={TriangleAlert}>
          <b>The chain is broken at record {count(answer.broken)}.</b> {answer.reason} Everything up to record {count(answer.seq)} is intact. Keep a copy of the database, and compare with an export or a stored checkpoint: axle audit verify --checkpoint FILE
        </Banner>
      )}
    </>
  )
}
