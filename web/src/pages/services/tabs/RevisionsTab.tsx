import { History } from 'lucide-react'
import styles from './tabs.module.css'
import { useCall } from '#/api/call'
import { type Revision, type Service, Services } from '#/api/gen/hub/v1/hub_pb'
import type { May } from '#/api/may'
import { Button } from '#/ds/Button'
import { SkeletonLines } from '#/ds/Skeleton'
import { Empty, ErrorPanel } from '#/ds/State'
import { Badge, Hash, Muted, person } from '#/ds/Text'
import { Age } from '#/status/Age'

const causes: Record<string, string> = { create: 'created', update: 'settings changed', commit: 'new commit', rollback: 'rollback' }

// RevisionsTab is the states of the service that one can go back to, the newest
// first; the hub keeps 20.
export function RevisionsTab({ service, may, onRollback }: { service: Service; may: May; onRollback: (to: bigint) => void }) {
  const ref = { cluster: service.cluster, name: service.name }
  const call = useCall(Services.method.listRevisions, { ref }, { keep: true })
  const rows = call.data?.revisions ?? []
  if (call.error && !call.data) return <ErrorPanel title="Can't read the revisions" error={call.error} retry={() => void call.refetch()} />
  if (!call.data) return <SkeletonLines lines={6} />
  if (rows.length === 0) return <Empty title="No revision yet">The first one is made when the hub has read the service's source.</Empty>
  return (
    <ol className={styles.list}>
      {rows.map((r) => (
        <li key={String(r.number)} className={styles.revision} data-current={r.current || undefined}>
          <span className={styles.spine} aria-hidden>
            <span className={styles.dot} />
          </span>
          <div className={styles.what}>
            <p className={styles.first}>
              <strong>{String(r.number)}</strong>
              <Hash revision={r.sourceRevision} />
              <span className={styles.subject} title={r.message}>
                {r.message.split('\n')[0]}
              </span>
              {r.current && <Badge tone="busy">current</Badge>}
              {service.pinnedRevision === r.number && <Badge tone="warn">pinned</Badge>}
              {r.cause === 'rollback' && <Badge tone="warn">rollback</Badge>}
            </p>
            <p className={styles.fine}>
              <Who revision={r} />
            </p>
            {r.reason && <p>Reason: {r.reason}</p>}
          </div>
          {!r.current && may.allowed === true && (
            <Button icon={History} onClick={() => onRollback(r.number)}>
              Roll back to this…
            </Button>
          )}
        </li>
      ))}
    </ol>
  )
}

function Who({ revision: r }: { revision: Revision }) {
  const author = person(r.author)
  return (
    <>
      {causes[r.cause] ?? r.cause}
      {r.by && ` by ${person(r.by)}`} <Age at={r.createdAt} after="ago" />
      {author && (
        <Muted>
          {' '}
          · commit by {author} <Age at={r.committedAt} after="ago" />
        </Muted>
      )}
    </>
  )
}
