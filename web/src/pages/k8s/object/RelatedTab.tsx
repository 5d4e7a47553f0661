import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { KubeError } from '../kube/KubeError'
import type { Place } from '../kube/calls'
import { objectPath } from '../kube/gvr'
import { type KubeObject, micros } from '../kube/object'
import { serviceOf } from '../kube/origin'
import { useCustomKinds } from '../kube/useKinds'
import styles from './Object.module.css'
import { type Related, relationsOf, statusOf } from './relations'
import { servicePath, useService } from './useService'
import { Panel } from '#/ds/Panel'
import { SkeletonLines } from '#/ds/Skeleton'
import { Empty } from '#/ds/State'
import { Table } from '#/ds/Table'
import { Hash, Muted, many } from '#/ds/Text'
import { Age } from '#/status/Age'
import { Status } from '#/status/Status'

export function RelatedTab({ place, object }: { place: Place; object: KubeObject }) {
  const customs = useCustomKinds(place.cluster)
  const { data, error, refetch } = useQuery({
    queryKey: ['k8s', place.cluster, 'related', object.metadata.uid],
    enabled: !customs.isLoading,
    staleTime: 5_000,
    refetchInterval: 15_000,
    queryFn: ({ signal }) => relationsOf(place, object, customs.data ?? [], signal),
  })
  const roots = [object, ...(data?.owners.flatMap((o) => o.object ?? []) ?? [])]
  const service = useService(place.cluster, roots.map(serviceOf).find(Boolean))
  if (error && !data) return <KubeError title="Can't read what is related" error={error} retry={() => void refetch()} />
  if (!data) return <SkeletonLines lines={6} />
  const none = data.owners.length + data.children.length + data.others.length === 0 && !service
  return (
    <div className={styles.panels}>
      {data.problems.slice(0, 3).map((p, i) => (
        // oxlint-disable-next-line react/no-array-index-key -- problems have no other name
        <KubeError key={i} title="A part could not be read" error={p} />
      ))}
      {none && data.problems.length === 0 && <Empty title="Nothing is related to it">It has no owner, owns nothing, and no service delivers it.</Empty>}
      {(data.owners.length > 0 || service) && (
        <Panel title="Comes from" flush>
          <Rows label="Owners" cluster={place.cluster} items={data.owners}>
            {service && (
              <tr>
                <td>Axle service</td>
                <td>
                  <Link to={servicePath(place.cluster, service.name) as string}>{service.name}</Link>
                </td>
                <td>
                  <Status word={service.sync} />
                </td>
                <td>
                  commit <Hash revision={service.appliedRevision || service.desiredRevision} /> <Muted>{service.commitMessage.split('\n')[0]}</Muted>
                </td>
                <td>
                  <Age at={service.committedAt} never="" />
                </td>
              </tr>
            )}
          </Rows>
        </Panel>
      )}
      {data.children.length > 0 && (
        <Panel title={object.kind === 'Service' ? 'Sends traffic to' : 'Made'} flush aside={many(data.children.length, 'object')}>
          <Rows label="Children" cluster={place.cluster} items={data.children} />
        </Panel>
      )}
      {data.others.length > 0 && (
        <Panel title="Goes with" flush aside={many(data.others.length, 'object')}>
          <Rows label="References" cluster={place.cluster} items={data.others} />
        </Panel>
      )}
    </div>
  )
}

function Rows({ label, cluster, items, children }: { label: string; cluster: string; items: Related[]; children?: React.ReactNode }) {
  return (
    <Table label={label} head={['Kind', 'Name', 'Status', 'Role', 'Age']}>
      {items.map((r) => {
        const state = r.object && statusOf(r.object)
        return (
          <tr key={`${r.kind} ${r.namespace} ${r.name} ${r.role ?? ''}`}>
            <td>{r.kind}</td>
            <td>
              <Link to={objectPath(cluster, r.gvr, r.namespace, r.name) as string}>{r.name}</Link>
            </td>
            <td>{state && <Status word={state.word} label={state.label} title={state.title} />}</td>
            <td>{r.role}</td>
            <td>
              <Age at={micros(r.object?.metadata.creationTimestamp)} never="" />
            </td>
          </tr>
        )
      })}
      {children}
    </Table>
  )
}
