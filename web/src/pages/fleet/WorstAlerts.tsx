import { Link } from '@tanstack/react-router'
import { useEffect } from 'react'
import styles from './NeedsYou.module.css'
import { useCall } from '#/api/call'
import { ClusterAlerts } from '#/api/gen/hub/v1/alerts_pb'
import { count } from '#/ds/Text'
import { lookOf } from '#/pages/clusters/Alerts'
import { Age } from '#/status/Age'
import { StatusIcon } from '#/status/Status'

// WorstAlerts lists the alerts of some clusters, those with the worst verdict: nobody asks
// the whole fleet because a page is open. What one of them does not answer is on its page.
export function WorstAlerts({ project, onCount }: { project: string; onCount: (n: number) => void }) {
  const { data } = useCall(ClusterAlerts.method.worst, { project }, { staleTime: 60_000, refetchInterval: 60_000, retry: false })
  const alerts = data?.alerts ?? []
  const n = alerts.length
  useEffect(() => onCount(n), [n, onCount])
  if (n === 0) return null
  return (
    <>
      <ul className={styles.list} aria-label="Alerts">
        {alerts.map(({ cluster, alert: a }) => (
          <li key={`${cluster} ${a?.id}`} className={styles.item}>
            <StatusIcon word={lookOf(a!).word} size={16} />
            <div className={styles.text}>
              <p>
                <Link to={`/clusters/${encodeURIComponent(cluster)}`}>
                  {a!.name} fires in {cluster}
                </Link>
                <span className={styles.age}>
                  <Age at={a!.since} />
                </span>
              </p>
              <p className={styles.message}>
                {lookOf(a!).label}
                {a!.namespace && `, ${[a!.namespace, a!.pod || a!.service].filter(Boolean).join('/')}`}
                {a!.summary && `: ${a!.summary}`}
              </p>
            </div>
          </li>
        ))}
      </ul>
      {(data!.leftOut > 0 || data!.notAsked > 0n) && (
        <p className={styles.more}>
          {data!.leftOut > 0 && `${count(data!.leftOut)} more alerts fire. `}
          {data!.notAsked > 0n && `${count(data!.asked)} clusters were asked, those with the worst verdict; ${count(data!.notAsked)} were not.`}
        </p>
      )}
    </>
  )
}
