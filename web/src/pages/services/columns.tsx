import { Pin } from 'lucide-react'
import { fromOf } from './from'
import styles from './services.module.css'
import type { ServiceRow } from '#/api/gen/hub/v1/fleet_pb'
import { Go } from '#/ds/Go'
import { Hash, Muted, count, person, short } from '#/ds/Text'
import type { Column } from '#/grid/layout'
import { Age } from '#/status/Age'
import { Status } from '#/status/Status'

export function serviceHref(row: { cluster: string; name: string }): string {
  return `/services/${encodeURIComponent(row.cluster)}/${encodeURIComponent(row.name)}`
}

// What a silent agent said last is dimmed: it may no longer be so.
const old = (r: ServiceRow) => r.freshness !== 'Fresh'

export const serviceColumns: Column<ServiceRow>[] = [
  { id: 'sync', header: 'Sync', min: 104, sort: 'sync', drop: 0, cell: (r) => <Status word={r.sync} dim={old(r)} title={[r.reason, r.message].filter(Boolean).join(': ') || undefined} /> },
  { id: 'health', header: 'Health', min: 112, sort: 'health', drop: 6, cell: (r) => <Status word={r.health} dim={old(r)} /> },
  { id: 'freshness', header: 'Freshness', min: 104, sort: 'freshness', drop: 7, cell: (r) => <Status word={r.freshness} at={r.polledAt} /> },
  {
    id: 'name',
    header: 'Name',
    min: 150,
    grow: 2,
    sort: 'name',
    // What is degraded shows although its sync is fine.
    under: { id: 'cluster', cell: (r) => <>{r.cluster}{r.health !== 'Healthy' && r.health !== 'Unknown' && <Status word={r.health} dim={old(r)} />}</> },
    cell: (r) => (
      <>
        <Go to={serviceHref(r)} tabIndex={-1} className={styles.name} title={r.namespace === r.name ? r.name : `${r.name}, namespace ${r.namespace}`}>
          {r.name}
        </Go>
        {r.pinnedRevision > 0n && <Pin size={12} className={styles.pin} aria-label={`pinned to revision ${r.pinnedRevision}`} />}
      </>
    ),
  },
  {
    id: 'cluster',
    header: 'Cluster',
    min: 120,
    grow: 1.4,
    sort: 'cluster',
    drop: 1,
    cell: (r) => (
      <Go to={`/clusters/${encodeURIComponent(r.cluster)}`} tabIndex={-1} className={styles.plain}>
        {r.cluster}
      </Go>
    ),
  },
  {
    id: 'source',
    header: 'Source',
    min: 150,
    grow: 1.8,
    sort: 'repository',
    drop: 5,
    cell: (r) => (
      <span className={styles.cut} title={[r.repository || 'made by the hub', r.chart || r.folder, r.ref].filter(Boolean).join('\n')}>
        <From of={r} />
      </span>
    ),
  },
  { id: 'revision', header: 'Desired → applied', min: 146, drop: 3, cell: (r) => <Revisions row={r} /> },
  { id: 'drift', header: 'Objects', min: 92, drop: 8, align: 'end', cell: (r) => <Objects row={r} /> },
  { id: 'updated', header: 'Changed', min: 76, sort: 'updated_at', drop: 4, align: 'end', cell: (r) => <Age at={r.updatedAt} /> },
  { id: 'author', header: 'By', min: 110, grow: 0.8, drop: 9, cell: (r) => <span className={styles.cut} title={r.commitAuthor}>{person(r.commitAuthor)}</span> },
  { id: 'namespace', header: 'Namespace', min: 110, optional: true, sort: 'namespace', drop: 10, cell: (r) => <span className={styles.cut}>{r.namespace}</span> },
  { id: 'project', header: 'Project', min: 96, optional: true, sort: 'project', drop: 10, cell: (r) => <span className={styles.cut}>{r.project}</span> },
  { id: 'message', header: 'Message', min: 200, grow: 3, optional: true, drop: 10, cell: (r) => <span className={styles.cut} title={r.message}>{r.message}</span> },
  { id: 'manager', header: 'Managed by', min: 110, optional: true, drop: 10, cell: (r) => r.managedBy?.tool ?? '' },
  { id: 'reported', header: 'Reported', min: 76, optional: true, sort: 'reported_at', drop: 10, align: 'end', cell: (r) => <Age at={r.reportedAt} /> },
]

export function Revisions({ row }: { row: Pick<ServiceRow, 'desiredRevision' | 'appliedRevision' | 'commitMessage'> }) {
  const same = row.desiredRevision === row.appliedRevision
  const title = [row.commitMessage, `desired ${row.desiredRevision || 'none'}`, `applied ${row.appliedRevision || 'none'}`].filter(Boolean).join('\n')
  return (
    <span className={styles.revisions} title={title}>
      {same ? (
        <Hash revision={row.desiredRevision} />
      ) : (
        <>
          <Hash revision={row.desiredRevision} />
          <Muted>→</Muted>
          <Muted>{short(row.appliedRevision) || 'none'}</Muted>
        </>
      )}
    </span>
  )
}

function Objects({ row }: { row: ServiceRow }) {
  const c = row.counts
  if (!c || c.total === 0) return <Muted>none</Muted>
  const bad = c.degraded + c.other
  return (
    <span title={`${c.healthy} healthy, ${c.progressing} progressing, ${c.degraded} degraded, ${c.other} other`}>
      {count(c.healthy)}
      <Muted>/{count(c.total)}</Muted>
      {bad > 0 && <span className="visually-hidden">, {bad} not healthy</span>}
    </span>
  )
}

// From is where a service comes from, as lists, pages and panels have it.
export function From({ of }: { of: Parameters<typeof fromOf>[0] }) {
  const { name, at } = fromOf(of)
  return (
    <>
      {name}
      {at && <Muted> @ {at}</Muted>}
    </>
  )
}
