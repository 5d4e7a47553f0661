import { Link } from '@tanstack/react-router'
import { Suspense, lazy, useState } from 'react'
import styles from './NeedsYou.module.css'
import { useCall } from '#/api/call'
import { Fleet } from '#/api/gen/hub/v1/fleet_pb'
import { CopyButton } from '#/ds/Copy'
import { Panel } from '#/ds/Panel'
import { SkeletonLines } from '#/ds/Skeleton'
import { ErrorPanel } from '#/ds/State'
import { count } from '#/ds/Text'
import { Age } from '#/status/Age'
import { Status, StatusIcon } from '#/status/Status'

const WorstAlerts = lazy(() => import('./WorstAlerts').then((m) => ({ default: m.WorstAlerts })))

// What each kind of item looks like.
const words: Record<string, string> = {
  cluster_pending: 'Pending',
  cluster_stale: 'Stale',
  service_failed: 'Failed',
  service_held: 'Held',
  service_orphaned: 'Held',
  rollout_paused: 'Paused',
  repository_failed: 'Failed',
  operation_failed: 'Failed',
  token_expires: 'Pending',
  restore_unconfirmed: 'Held',
}

// NeedsYou lists what waits for a person, the most urgent first, each with the
// page and the command that deal with it.
export function NeedsYou({ project }: { project: string }) {
  const needs = useCall(Fleet.method.needsYou, { project }, { keep: true })
  const items = needs.data?.items ?? []
  const [alerts, setAlerts] = useState(0)
  const all = items.length + Number(needs.data?.leftOut ?? 0) + alerts
  return (
    <Panel title="Needs you" flush aside={all > 0 ? count(all) : undefined}>
      {needs.error && !needs.data ? (
        <div className={styles.pad}>
          <ErrorPanel title="Can't read what needs you" error={needs.error} retry={() => void needs.refetch()} />
        </div>
      ) : !needs.data ? (
        <div className={styles.pad}>
          <SkeletonLines />
        </div>
      ) : items.length === 0 ? (
        alerts === 0 && (
          <p className={styles.calm}>
            <Status word="Healthy" label="Nothing waits for you" />
          </p>
        )
      ) : (
        <ul className={styles.list}>
          {/* Its title changes with the count; the link that has somebody's focus stays. */}
          {items.map((item, n) => (
            <li key={`${item.kind} ${item.href} ${items.slice(0, n).filter((one) => one.href === item.href).length}`} className={styles.item}>
              <StatusIcon word={words[item.kind] ?? 'NeedsYou'} size={16} />
              <div className={styles.text}>
                <p>
                  <Link to={item.href || '/'}>{item.title}</Link>
                  {item.since > 0n && (
                    <span className={styles.age}>
                      <Age at={item.since} />
                    </span>
                  )}
                </p>
                {item.message && (
                  <p className={styles.message} title={item.message}>
                    {item.message}
                  </p>
                )}
                {item.examples.length > 0 && item.count > 1n && (
                  <p className={styles.message}>
                    {item.examples.join(', ')}
                    {Number(item.count) > item.examples.length && ` and ${count(Number(item.count) - item.examples.length)} more`}
                  </p>
                )}
                {item.command && (
                  <p className={styles.command}>
                    <code title={item.command}>{item.command}</code>
                    <CopyButton text={item.command} label="Copy the command" />
                  </p>
                )}
              </div>
            </li>
          ))}
        </ul>
      )}
      <Suspense fallback={null}>
        <WorstAlerts project={project} onCount={setAlerts} />
      </Suspense>
    </Panel>
  )
}
