import { Link } from '@tanstack/react-router'
import styles from './Versions.module.css'
import type { Count } from '#/api/gen/hub/v1/fleet_pb'
import { Panel } from '#/ds/Panel'
import { count } from '#/ds/Text'

interface Props {
  title: string
  counts: readonly Count[]
  // Of the cluster filter.
  field: string
}

// Versions is how a version is spread over the clusters, with a link to each.
export function Versions({ title, counts, field }: Props) {
  const total = counts.reduce((n, c) => n + Number(c.count), 0)
  if (total === 0) return null
  const rows = counts.toSorted((a, b) => newer(b.value, a.value))
  return (
    <Panel title={title}>
      <ul className={styles.list}>
        {rows.map((c) => (
          <li key={c.value}>
            <Link to="/clusters" search={{ [field]: c.value } as never} className={styles.row}>
              <span className={styles.value}>{c.value || 'unknown'}</span>
              <span className={styles.track} aria-hidden>
                <span className={styles.bar} style={{ width: `${Math.max(1, (Number(c.count) / total) * 100)}%` }} />
              </span>
              <span className={styles.count}>{count(c.count)}</span>
            </Link>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

// newer orders versions by their numbers.
function newer(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true })
}
