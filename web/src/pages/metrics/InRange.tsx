import styles from './Metrics.module.css'
import type { Deployments } from './useDeployments'
import type { RangeState } from './useRange'
import { momentOf } from '#/ds/chart/times'
import { Go } from '#/ds/Go'
import { Muted } from '#/ds/Text'
import { objectPath, type GVR } from '#/pages/k8s/kube/gvr'

// A workload, or another object that has logs.
export interface Logged {
  gvr: GVR
  namespace: string
  name: string
}

const shown = 5

const timeOf = (micros: bigint) => new Date(Number(micros / 1000n)).toISOString()

// logsIn leads to the logs of an object in a range.
export function logsIn(cluster: string, of: Logged, range: Pick<RangeState, 'startMicros' | 'endMicros'>): string {
  return `${objectPath(cluster, of.gvr, of.namespace, of.name, 'logs')}?from=${timeOf(range.startMicros)}&to=${timeOf(range.endMicros)}`
}

// InRange is what else there is of the time that the graphs show: its logs, and what was deployed in it.
export function InRange({ cluster, logged, deployments, range }: { cluster: string; logged: Logged[]; deployments: Deployments; range: RangeState }) {
  const { markers, cut } = deployments
  return (
    <div className={styles.inRange}>
      {logged.length > 0 && (
        <p className={styles.note}>
          Logs of this range:{' '}
          {logged.slice(0, shown).map((l) => (
            <Go key={`${l.gvr.resource} ${l.name}`} to={logsIn(cluster, l, range)}>
              {l.name}
            </Go>
          ))}
          {logged.length > shown && <Muted>and {logged.length - shown} more workloads</Muted>}
        </p>
      )}
      {markers.length > 0 && (
        <ul className={styles.note} aria-label="Deployments in this range">
          {markers.slice(-shown).map((m) => (
            <li key={`${m.at} ${m.name}`}>
              <Muted>{momentOf(m.at)}</Muted> {m.text}
            </li>
          ))}
          {markers.length > shown && <li><Muted>{markers.length - shown} before these; the table of each graph has them.</Muted></li>}
        </ul>
      )}
      {cut && <Muted>The range has older events than those that were read: only the newest deployments are marked.</Muted>}
    </div>
  )
}
