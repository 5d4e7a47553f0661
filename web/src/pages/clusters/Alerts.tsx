import styles from './Alerts.module.css'
import { LinkList, Outside } from './Links'
import { useCall } from '#/api/call'
import { type ClusterAlert, ClusterAlerts } from '#/api/gen/hub/v1/alerts_pb'
import { Panel } from '#/ds/Panel'
import { SkeletonLines } from '#/ds/Skeleton'
import { ErrorPanel } from '#/ds/State'
import { Muted, count } from '#/ds/Text'
import { Age, Time } from '#/status/Age'
import { Status } from '#/status/Status'

// The hub asks the cluster's stores while a page shows their alerts, and not else.
const every = 30_000

// AlertsPanel has the alerts of a cluster, or of one of its namespaces, that fire.
export function AlertsPanel({ cluster, namespace = '', tunnel }: { cluster: string; namespace?: string; tunnel: string }) {
  const up = tunnel === 'Up'
  const { data, error, refetch } = useCall(ClusterAlerts.method.list, { cluster, namespace }, { enabled: up, staleTime: every, refetchInterval: every, retry: false })
  const firing = data?.alerts.filter((a) => a.state === 'firing').length
  return (
    <Panel title="Alerts" flush aside={firing ? `${count(firing)} firing` : undefined}>
      {!up ? (
        <p className={styles.pad}>
          <Muted>Alerts are read through the tunnel, which is {tunnel === 'Off' ? 'off' : 'closed'}.</Muted>
        </p>
      ) : error && !data ? (
        <div className={styles.pad}>
          <ErrorPanel title="Can't read the alerts" error={error} retry={() => void refetch()} />
        </div>
      ) : !data ? (
        <div className={styles.pad}>
          <SkeletonLines />
        </div>
      ) : (
        <>
          {data.alerts.length === 0 && data.sources.length === 0 && data.notices.length > 0 ? null : data.alerts.length === 0 ? (
            <p className={styles.pad}>
              <Status word="Healthy" label={namespace ? `No alert fires in ${namespace}` : data.namespaces?.all ? 'No alert fires' : 'No alert fires in the namespaces that you see'} />
            </p>
          ) : (
            <ul className={styles.list}>
              {data.alerts.map((a) => (
                <li key={a.id}>
                  <Alert alert={a} />
                </li>
              ))}
            </ul>
          )}
          {(data.pending > 0 || data.notices.length > 0) && (
            <div className={styles.notes}>
              {data.pending > 0 && <p>{data.pending === 1 ? '1 more alert fires if its condition lasts.' : `${count(data.pending)} more alerts fire if their conditions last.`}</p>}
              {data.notices.map((n) => (
                <p key={n}>{n}</p>
              ))}
            </div>
          )}
        </>
      )}
    </Panel>
  )
}

function Alert({ alert: a }: { alert: ClusterAlert }) {
  const where = [a.namespace, a.pod || a.service].filter(Boolean).join('/')
  return (
    <>
      <div className={styles.head}>
        <span className={styles.name}>
          <Status {...lookOf(a)} />
          <span>{a.name}</span>
        </span>
        <span className={styles.fine}>
          <Age at={a.since} />
        </span>
      </div>
      {a.summary && <p>{a.summary}</p>}
      {a.description && a.description !== a.summary && <p className={styles.fine}>{a.description}</p>}
      <p className={styles.fine}>{where || 'The cluster as a whole'}</p>
      {a.silences.map((s) => (
        <div key={s.id} className={styles.fine}>
          Silenced{s.createdBy && ` by ${s.createdBy}`}
          {s.until > 0n && (
            <>
              {' '}
              until <Time at={s.until} />
            </>
          )}
          {s.comment && `: ${s.comment}`}
          <LinkList links={s.links} label={`Links of silence ${s.id}`} />
        </div>
      ))}
      {(a.runbookUrl || a.generatorUrl || a.links.length > 0) && (
        <div className={styles.links}>
          {a.runbookUrl && <Outside href={a.runbookUrl}>Runbook</Outside>}
          <LinkList links={a.links} label={`Links of ${a.name}`} />
        </div>
      )}
    </>
  )
}

// lookOf is how urgent an alert is, as icon and word.
export function lookOf(a: Pick<ClusterAlert, 'state' | 'severity'>): { word: string; label: string } {
  if (a.state === 'silenced') return { word: 'Paused', label: 'Silenced' }
  if (a.state === 'inhibited') return { word: 'Suspended', label: 'Inhibited' }
  const label = a.severity ? a.severity[0]!.toUpperCase() + a.severity.slice(1) : 'Firing'
  if (['critical', 'page', 'error', 'high'].includes(a.severity)) return { word: 'Failed', label }
  if (['info', 'none', 'low'].includes(a.severity)) return { word: 'Unknown', label }
  return { word: 'Warning', label }
}
