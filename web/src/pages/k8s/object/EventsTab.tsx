import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { KubeError } from '../kube/KubeError'
import { LiveState } from '../kube/LiveState'
import { type Place, listObjects } from '../kube/calls'
import { type Liveness, follow } from '../kube/follow'
import { type KubeObject, micros } from '../kube/object'
import styles from './Object.module.css'
import { eventOf, newestFirst } from './events'
import { Panel } from '#/ds/Panel'
import { SkeletonLines } from '#/ds/Skeleton'
import { Empty } from '#/ds/State'
import { Table } from '#/ds/Table'
import { count, many } from '#/ds/Text'
import { Age } from '#/status/Age'
import { Status } from '#/status/Status'

const events = { group: '', version: 'v1', resource: 'events' }

// useEvents are the events about one object. The API server keeps them for an
// hour, so none says little.
export function useEvents(place: Place, object: KubeObject) {
  const { uid, name, namespace = 'default' } = object.metadata
  const where = { cluster: place.cluster, gvr: events, namespace }
  const fieldSelector = `involvedObject.name=${name},involvedObject.kind=${object.kind}${uid && object.kind !== 'Node' ? `,involvedObject.uid=${uid}` : ''}`
  const [live, setLive] = useState<Liveness | undefined>()
  const query = useQuery({ queryKey: ['k8s', place.cluster, 'events', namespace, fieldSelector], staleTime: 2_000, queryFn: ({ signal }) => listObjects(where, { fieldSelector, limit: 500 }, signal).then((l) => newestFirst(l.items.map(eventOf))) })
  const { refetch } = query
  useEffect(() => {
    const abort = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const again = () => {
      timer ??= setTimeout(() => {
        timer = undefined
        void refetch()
      }, 500)
    }
    // The list is small and read again: what came meanwhile does not matter.
    void follow({ place: where, fieldSelector, table: true, read: async () => (again(), '0'), onEvent: again, onState: setLive }, '', abort.signal)
    return () => {
      abort.abort()
      clearTimeout(timer)
    }
    // oxlint-disable-next-line react/exhaustive-deps -- where is cluster and namespace
  }, [place.cluster, namespace, fieldSelector, refetch])
  return { ...query, live }
}

export function EventsTab({ place, object }: { place: Place; object: KubeObject }) {
  const { data, error, refetch, live } = useEvents(place, object)
  return (
    <Panel title="Events" flush aside={<LiveState live={live} />}>
      {error && !data ? (
        <KubeError title="Can't list the events" error={error} retry={() => void refetch()} />
      ) : !data ? (
        <SkeletonLines lines={5} />
      ) : data.length === 0 ? (
        <Empty title="No events">The API server keeps events for about an hour: nothing happened to this object since.</Empty>
      ) : (
        <Table label={many(data.length, 'event')} head={['Type', 'Age', 'Reason', 'Message', 'Times', 'From']}>
          {data.map((e) => (
            <tr key={e.id}>
              <td>
                <Status word={e.type === 'Warning' ? 'Degraded' : 'Healthy'} label={e.type} title={e.type} />
              </td>
              <td>
                <Age at={micros(e.at)} />
              </td>
              <td>{e.reason}</td>
              <td>
                <div className={styles.message}>{e.message}</div>
              </td>
              <td>{count(e.count)}</td>
              <td>{e.from}</td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  )
}
