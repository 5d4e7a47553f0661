import styles from './clusters.module.css'
import { madeWord, wordOfPhase } from './made'
import type { ClusterRow } from '#/api/gen/hub/v1/fleet_pb'
import { Go } from '#/ds/Go'
import { Muted, Tag, count } from '#/ds/Text'
import type { Column } from '#/grid/layout'
import { Age } from '#/status/Age'
import { Status } from '#/status/Status'

export function clusterHref(name: string): string {
  return `/clusters/${encodeURIComponent(name)}`
}

export const clusterColumns: Column<ClusterRow>[] = [
  {
    id: 'status',
    header: 'Status',
    min: 132,
    sort: 'verdict',
    cell: (r) => <ClusterStatus row={r} />,
  },
  {
    id: 'name',
    header: 'Name',
    min: 170,
    grow: 2,
    sort: 'name',
    under: { id: 'services', cell: (r) => <ServiceCounts row={r} /> },
    cell: (r) => (
      <Go to={clusterHref(r.cluster?.name ?? '')} tabIndex={-1} className={styles.name}>
        {r.cluster?.name}
      </Go>
    ),
  },
  {
    id: 'services',
    header: 'Services',
    min: 150,
    sort: 'services',
    drop: 1,
    cell: (r) => <ServiceCounts row={r} />,
  },
  { id: 'freshness', header: 'Last poll', min: 112, sort: 'freshness', drop: 4, cell: (r) => <Status word={r.cluster?.freshness ?? ''} at={r.cluster?.polledAt} /> },
  { id: 'tunnel', header: 'Tunnel', min: 96, drop: 6, cell: (r) => <Status word={r.cluster?.tunnel ?? ''} dim={r.cluster?.freshness !== 'Fresh'} /> },
  { id: 'tags', header: 'Tags', min: 180, grow: 2.4, drop: 5, cell: (r) => <Tags tags={r.cluster?.tags ?? {}} /> },
  { id: 'kubernetes', header: 'Kubernetes', min: 96, sort: 'kubernetes_version', drop: 3, cell: (r) => r.cluster?.kubernetesVersion || <Muted>unknown</Muted> },
  { id: 'agent', header: 'Agent', min: 96, sort: 'agent_version', drop: 7, cell: (r) => <span className={styles.cut} title={r.cluster?.agentVersion}>{r.cluster?.agentVersion}</span> },
  { id: 'nodes', header: 'Nodes', min: 64, sort: 'nodes', align: 'end', drop: 8, cell: (r) => (r.cluster?.nodes ? count(r.cluster.nodes) : '') },
  { id: 'project', header: 'Project', min: 96, sort: 'project', drop: 9, cell: (r) => <span className={styles.cut}>{r.cluster?.project}</span> },
  { id: 'distro', header: 'Distribution', min: 96, optional: true, drop: 10, cell: (r) => r.cluster?.distro },
  { id: 'manager', header: 'Managed by', min: 110, optional: true, drop: 10, cell: (r) => r.cluster?.managedBy?.tool ?? '' },
  { id: 'created', header: 'Created', min: 70, optional: true, sort: 'created_at', drop: 10, cell: (r) => <Age at={r.cluster?.createdAt ?? 0} /> },
]

// ClusterStatus is the verdict of a cluster, or how far one is that is made or destroyed.
function ClusterStatus({ row: { cluster, verdict } }: { row: ClusterRow }) {
  const made = madeWord(cluster)
  if (made) return <Status word={wordOfPhase(made)} label={made} title={cluster?.origin?.state?.message || undefined} />
  return <Status word={verdict} at={verdict === 'Stale' ? cluster?.polledAt : undefined} title={cluster?.message || undefined} />
}

export function Tags({ tags }: { tags: Record<string, string> }) {
  const all = Object.entries(tags).toSorted(([a], [b]) => a.localeCompare(b))
  return (
    <span className={styles.tags} title={all.map(([k, v]) => `${k}=${v}`).join('\n')}>
      {all.map(([k, v]) => (
        <Tag key={k}>{`${k}=${v}`}</Tag>
      ))}
    </span>
  )
}

// ServiceCounts says how many services a cluster has, and what is wrong.
export function ServiceCounts({ row }: { row: ClusterRow }) {
  const c = row.cluster
  if (!c || c.services === 0) return <Muted>none</Muted>
  const parts = [
    { n: c.servicesFailed, word: 'Failed', label: 'failed' },
    { n: row.servicesHeld, word: 'Held', label: 'of them held' },
    { n: row.servicesDrifted, word: 'Drifted', label: 'drifted' },
    { n: row.servicesProgressing, word: 'Progressing', label: 'progressing' },
  ].filter((p) => p.n > 0)
  const worst = parts[0]
  const ok = `${count(c.servicesHealthy)} of ${count(c.services)} healthy`
  return (
    <span className={styles.counts} title={[ok, ...parts.map((p) => `${p.n} ${p.label}`)].join(', ')}>
      <span>
        {count(c.servicesHealthy)}
        <Muted>/{count(c.services)}</Muted>
      </span>
      {worst && <Status word={worst.word} label={`${count(worst.n)} ${worst.label}`} />}
    </span>
  )
}
