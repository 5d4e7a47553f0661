import { type ReactNode, useState } from 'react'
import { Link } from '@tanstack/react-router'
import styles from './Kube.module.css'
import { useCall } from '#/api/call'
import { Fleet } from '#/api/gen/hub/v1/fleet_pb'
import { type Component, Services } from '#/api/gen/hub/v1/hub_pb'
import { Panel } from '#/ds/Panel'
import { SkeletonLines } from '#/ds/Skeleton'
import { Empty, ErrorPanel } from '#/ds/State'
import { Table } from '#/ds/Table'
import { Muted, many } from '#/ds/Text'
import { useCluster } from '#/pages/clusters/useCluster'
import { Status } from '#/status/Status'

// LiveGate shows a page that reads the cluster live, while its tunnel is up;
// otherwise what the cluster last reported; the cluster's header says since when.
export function LiveGate({ children }: { children: ReactNode }) {
  const { data: cluster } = useCluster()
  if (!cluster || cluster.tunnel === 'Up') return children
  return <Inventory cluster={cluster.name} />
}

function Inventory({ cluster }: { cluster: string }) {
  const { data, error, refetch } = useCall(Fleet.method.queryServices, { filter: { cluster: [cluster] }, sort: 'name', limit: 500 })
  return (
    <Panel title="Last reported" flush aside={data ? many(data.total, 'service') : undefined}>
      {error && !data ? (
        <ErrorPanel title="Can't read the services of this cluster" error={error} retry={() => void refetch()} />
      ) : !data ? (
        <SkeletonLines lines={4} />
      ) : data.rows.length === 0 ? (
        <Empty title="Nothing is delivered to this cluster">Without services, there is nothing that its agent reports.</Empty>
      ) : (
        <div className={styles.inventory}>
          {data.rows.map((row) => (
            <Reported key={row.id} cluster={cluster} name={row.name} namespace={row.namespace} health={row.health} at={row.reportedAt} />
          ))}
        </div>
      )}
    </Panel>
  )
}

function Reported({ cluster, name, namespace, health, at }: { cluster: string; name: string; namespace: string; health: string; at: bigint }) {
  const [open, setOpen] = useState(false)
  return (
    <details open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>
        <Status word={health} at={at} />
        <b>{name}</b>
        <Muted>{namespace}</Muted>
      </summary>
      {open && <Components cluster={cluster} name={name} />}
    </details>
  )
}

function Components({ cluster, name }: { cluster: string; name: string }) {
  const { data, error, refetch } = useCall(Services.method.get, { ref: { cluster, name } })
  if (error && !data) return <ErrorPanel title="Can't read its objects" error={error} retry={() => void refetch()} />
  if (!data) return <SkeletonLines lines={3} />
  return (
    <div className={styles.indent}>
      <Table label={`Objects of ${name}`} head={['Kind', 'Namespace', 'Name', 'Health']}>
        {data.components.slice(0, 500).map((c: Component) => (
          <tr key={`${c.group}/${c.kind}/${c.namespace}/${c.name}`}>
            <td>{c.kind}</td>
            <td>{c.namespace}</td>
            <td>{c.name}</td>
            <td>
              <Status word={c.health} title={c.message} dim />
            </td>
          </tr>
        ))}
      </Table>
      <Link to={`/services/${encodeURIComponent(cluster)}/${encodeURIComponent(name)}` as string}>Open the service</Link>
    </div>
  )
}
