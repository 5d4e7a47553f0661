import { Code } from '@connectrpc/connect'
import { useQueries, useQuery } from '@tanstack/react-query'
import styles from './LastLines.module.css'
import { type Failing, again, failingContainers, maxShown, problemOfLog, readLastLines } from './failing'
import { objectHref } from './tree'
import { isCode, problemOf } from '#/api/errors'
import type { Component } from '#/api/gen/hub/v1/hub_pb'
import { Go } from '#/ds/Go'
import { Panel } from '#/ds/Panel'
import { Muted, count, many } from '#/ds/Text'
import { getObject } from '#/pages/k8s/kube/calls'
import type { KubeObject } from '#/pages/k8s/kube/object'
import { timesAround } from '#/pages/k8s/logs/around'

const gvr = { group: '', version: 'v1', resource: 'pods' }

// LastLines shows the end of what the containers wrote that fail, read from the cluster now.
export function LastLines({ cluster, pods }: { cluster: string; pods: Component[] }) {
  const asked = pods.slice(0, maxShown)
  const answers = useQueries({
    queries: asked.map((pod) => ({
      queryKey: ['k8s', cluster, 'failing', pod.namespace, pod.name, pod.message],
      queryFn: ({ signal }: { signal: AbortSignal }) => getObject({ cluster, gvr, namespace: pod.namespace }, pod.name, signal),
      refetchInterval: 10_000,
      retry: again,
    })),
  })
  const all = answers.flatMap(({ data }, i) => (data ? failingContainers(data, asked[i]!.health === 'Degraded').map((f) => ({ pod: asked[i]!, object: data, ...f })) : []))
  const denied = answers.find(({ error }) => error && !isCode(error, Code.NotFound))?.error
  if (all.length === 0 && !denied) return null
  const more = Math.max(0, all.length - maxShown) + pods.length - asked.length
  return (
    <Panel title="Last lines of failing containers" flush>
      <ul className={styles.list}>
        {all.slice(0, maxShown).map((f) => (
          <li key={`${f.object.metadata.uid} ${f.container}`}>
            <p className={styles.head}>
              <Go to={logsHref(cluster, f)}>
                {f.pod.name} {f.container}
              </Go>
              <Muted>
                {f.why}
                {f.restarts > 0 && `, ${many(f.restarts, 'restart')}`}
              </Muted>
            </p>
            <End cluster={cluster} pod={f.pod} object={f.object} of={f} />
          </li>
        ))}
      </ul>
      {denied && <p className={styles.note}>A pod that fails can’t be read: {problemOf(denied).message}</p>}
      {more > 0 && <p className={styles.note}>{count(more)} more {more === 1 ? 'fails' : 'fail'}; the list below has them.</p>}
    </Panel>
  )
}

// logsHref leads to the log at the time of the failure: what this container wrote before it.
function logsHref(cluster: string, f: Failing & { pod: Component }): string {
  const times = timesAround(f.endedAt)
  return `${objectHref(cluster, f.pod, 'logs')}?c=${encodeURIComponent(f.container)}${f.previous ? '&previous=1' : ''}${times && `&${times}`}`
}

function End({ cluster, pod, object, of }: { cluster: string; pod: Component; object: KubeObject; of: Failing }) {
  const { container, previous } = of
  // Each read is a line of the audit log: a run that is over is read once.
  const { data, error } = useQuery({
    queryKey: ['k8s', cluster, 'last lines', object.metadata.uid, container, previous, of.restarts],
    queryFn: ({ signal }) => readLastLines({ cluster, namespace: pod.namespace, pod: pod.name, container, previous }, signal),
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
      <div className={styles.lines} role="log" aria-live="off" aria-label={`Last lines of ${pod.name} ${container}`} tabIndex={0}>
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
