import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { objectPath } from '../kube/gvr'
import styles from './LastLines.module.css'
import { timesAround } from './around'
import { type Failing, type Suspect, again, failingContainers, maxShown, problemOfLog, readLastLines } from './failing'
import { problemOf } from '#/api/errors'
import { Go } from '#/ds/Go'
import { Panel } from '#/ds/Panel'
import { Muted, count, many } from '#/ds/Text'

const gvr = { group: '', version: 'v1', resource: 'pods' }

type Shown = Suspect & Failing

interface Props {
  cluster: string
  pods: readonly Suspect[]
  // Why some could not be read.
  denied?: unknown
  // How many pods that fail are not among them, and where those are listed.
  left?: number
  where?: string
}

// LastLines shows the end of what the containers wrote that fail, read from the cluster now.
export function LastLines({ cluster, pods, denied, left = 0, where = 'the list below' }: Props) {
  const all = pods.flatMap((pod) => failingContainers(pod.object, pod.degraded).map((f): Shown => ({ ...pod, ...f })))
  if (all.length === 0 && !denied) return null
  const more = Math.max(0, all.length - maxShown) + left
  return (
    <Panel title="Last lines of failing containers" flush>
      <ul className={styles.list}>
        {all.slice(0, maxShown).map((f) => (
          <li key={`${f.object.metadata.uid} ${f.container}`}>
            <p className={styles.head}>
              <Go to={logsHref(cluster, f)}>
                {f.object.metadata.name} {f.container}
              </Go>
              <Muted>
                {f.why}
                {f.restarts > 0 && `, ${many(f.restarts, 'restart')}`}
              </Muted>
            </p>
            <End cluster={cluster} of={f} />
          </li>
        ))}
      </ul>
      {denied !== undefined && <p className={styles.note}>A pod that fails can’t be read: {problemOf(denied).message}</p>}
      {more > 0 && (
        <p className={styles.note}>
          {count(more)} more {more === 1 ? 'fails' : 'fail'}; {where} has them.
        </p>
      )}
    </Panel>
  )
}

// logsHref leads to the log at the time of the failure: what this container wrote before it.
function logsHref(cluster: string, { object: { metadata }, container, previous, endedAt }: Shown): string {
  const times = timesAround(endedAt)
  return `${objectPath(cluster, gvr, metadata.namespace ?? '', metadata.name, 'logs')}?c=${encodeURIComponent(container)}${previous ? '&previous=1' : ''}${times && `&${times}`}`
}

function End({ cluster, of }: { cluster: string; of: Shown }) {
  const { container, previous, object: { metadata } } = of
  const { namespace = '', name: pod } = metadata
  // Each read is a line of the audit log: a run that is over is read once.
  const { data, error } = useQuery({
    queryKey: ['k8s', cluster, 'last lines', metadata.uid, container, previous, of.restarts],
    queryFn: ({ signal }) => readLastLines({ cluster, namespace, pod, container, previous }, signal),
    // With each restart, what was there stays until the new end is read.
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    gcTime: 60_000,
    retry: again,
  })
  const problem = error && problemOfLog(error)
  if (problem) return <p className={styles.note}>Its log can’t be read: {problem}</p>
  if (error || (data && data.lines.length === 0)) return <p className={styles.note}>It wrote nothing.</p>
  if (!data) return <p className={styles.note}>Reading its log…</p>
  return (
    <>
      {data.cut && <p className={styles.note}>Long lines: only {data.lines.length === 1 ? 'the last one fits' : `the last ${data.lines.length} fit`} here.</p>}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, also by keyboard */}
      <div className={styles.lines} role="log" aria-live="off" aria-label={`Last lines of ${pod} ${container}`} tabIndex={0}>
        <div>
          {data.lines.map((line) => (
            <div key={line.id} className={styles.line} data-level={line.level}>
              <span className={styles.time}>{line.time.slice(11, 19)}</span>
              <span className={styles.text}>{line.text}</span>
            </div>
          ))}
        </div>
      </div>
    </>
  )
}
