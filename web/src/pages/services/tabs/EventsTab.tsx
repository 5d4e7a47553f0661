import { useState } from 'react'
import styles from './tabs.module.css'
import { keyOf, useCall } from '#/api/call'
import { Events, type Service } from '#/api/gen/hub/v1/hub_pb'
import { Button } from '#/ds/Button'
import { SkeletonLines } from '#/ds/Skeleton'
import { Empty, ErrorPanel } from '#/ds/State'
import { useHint } from '#/live/useLive'
import { Age } from '#/status/Age'

const page = 100
const most = 1_000

// EventsTab is what happened to the service, the newest first.
export function EventsTab({ service }: { service: Service }) {
  const [limit, setLimit] = useState(page)
  const input = { cluster: service.cluster, service: service.name, limit }
  const call = useCall(Events.method.list, input, { keep: true })
  useHint(['events'], keyOf(Events.method.list, input))
  if (call.error && !call.data) return <ErrorPanel title="Can't read the events" error={call.error} retry={() => void call.refetch()} />
  if (!call.data) return <SkeletonLines lines={6} />
  const rows = call.data.events
  if (rows.length === 0) return <Empty title="No events yet" />
  return (
    <div className={styles.tab}>
      <ol className={styles.list}>
        {rows.map((e) => (
          <li key={String(e.id)} className={styles.event}>
            <span className={styles.when}>
              <Age at={e.at} />
            </span>
            <span className={styles.eventText}>
              <strong>{e.kind}</strong> {e.message}
            </span>
            <span className={styles.who}>{e.by}</span>
          </li>
        ))}
      </ol>
      {rows.length >= limit && limit < most && <Button onClick={() => setLimit(Math.min(most, limit + 200))}>Load older</Button>}
    </div>
  )
}
