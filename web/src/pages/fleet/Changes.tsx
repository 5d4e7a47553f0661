import { Link } from '@tanstack/react-router'
import styles from './Changes.module.css'
import { useCall } from '#/api/call'
import { Fleet, type RecentChange } from '#/api/gen/hub/v1/fleet_pb'
import { Panel } from '#/ds/Panel'
import { SkeletonLines } from '#/ds/Skeleton'
import { Empty, ErrorPanel } from '#/ds/State'
import { count } from '#/ds/Text'
import { Age } from '#/status/Age'

interface Props {
  project?: string
  cluster?: string
  limit?: number
}

// Changes is who changed what where, newest first.
export function Changes({ project = '', cluster = '', limit = 12 }: Props) {
  const changes = useCall(Fleet.method.recentChanges, { project, cluster, limit }, { keep: true })
  const rows = changes.data?.changes ?? []
  return (
    <Panel title="Recent changes" flush aside={<Link to="/activity">All</Link>}>
      {changes.error && !changes.data ? (
        <div className={styles.pad}>
          <ErrorPanel title="Can't read the changes" error={changes.error} retry={() => void changes.refetch()} />
        </div>
      ) : !changes.data ? (
        <div className={styles.pad}>
          <SkeletonLines lines={5} />
        </div>
      ) : rows.length === 0 ? (
        <Empty title="Nothing has changed yet">Pushes, edits and rollbacks show here as they reach clusters.</Empty>
      ) : (
        <ol className={styles.list}>
          {rows.map((change) => (
            <li key={String(change.id)} className={styles.change}>
              <span className={styles.age}>
                <Age at={change.at} />
              </span>
              <span className={styles.what}>
                <What change={change} />
                <span className={styles.happened}>{happened(change.kind)}</span>
                <span className={styles.message} title={change.message}>
                  {change.message}
                </span>
              </span>
              <span className={styles.by}>{change.by}</span>
            </li>
          ))}
        </ol>
      )}
    </Panel>
  )
}

// happened says what the kind of an event says: service.rolled_back is "rolled back".
export function happened(kind: string): string {
  return kind.slice(kind.indexOf('.') + 1).replaceAll('_', ' ')
}

function What({ change }: { change: RecentChange }) {
  const times = change.count > 1 ? ` ×${count(change.count)}` : ''
  if (change.cluster && change.service) {
    return (
      <Link to={`/services/${encodeURIComponent(change.cluster)}/${encodeURIComponent(change.service)}`}>
        {change.cluster}/{change.service}
        {times}
      </Link>
    )
  }
  if (change.cluster) return <Link to={`/clusters/${encodeURIComponent(change.cluster)}`}>{change.cluster + times}</Link>
  return (
    <strong>
      {change.object || change.kind}
      {times}
    </strong>
  )
}
