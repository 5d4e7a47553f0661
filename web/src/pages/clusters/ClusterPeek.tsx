import { Link } from '@tanstack/react-router'
import styles from './clusters.module.css'
import { Tags, clusterHref } from './columns'
import { madeWord, wordOfPhase } from './made'
import { keyOf, useCall } from '#/api/call'
import { Fleet } from '#/api/gen/hub/v1/fleet_pb'
import { Clusters } from '#/api/gen/hub/v1/hub_pb'
import { useKeys } from '#/app/useKeys'
import { buttonClass } from '#/ds/Button'
import { SkeletonLines } from '#/ds/Skeleton'
import { ErrorPanel } from '#/ds/State'
import { Facts, count } from '#/ds/Text'
import { Peek } from '#/grid/Peek'
import { useHint } from '#/live/useLive'
import { Status } from '#/status/Status'

interface Props {
  name: string
  onClose: () => void
  // Over the page, where there is no list beside it.
  floating?: boolean
}

// ClusterPeek is one cluster beside a list or the heat map.
export function ClusterPeek({ name, onClose, floating }: Props) {
  const cluster = useCall(Clusters.method.get, { name }, { keep: true })
  const bad = { filter: { cluster: [name], verdict: ['Failed', 'Drifted'] }, sort: 'verdict', limit: 8 }
  const services = useCall(Fleet.method.queryServices, bad, { keep: true })
  useHint(['clusters', 'services'], keyOf(Clusters.method.get, { name }), keyOf(Fleet.method.queryServices, bad))
  useKeys('Beside', [{ keys: 'Escape', does: 'close', run: onClose }], floating ?? false)
  const c = cluster.data?.name === name ? cluster.data : undefined
  const made = madeWord(c)
  const rows = services.data?.rows ?? []
  const peek = (
    <Peek label={`Cluster ${name}`} title={name} onClose={onClose}>
      {cluster.error && <ErrorPanel title="Can't read the cluster" error={cluster.error} retry={() => void cluster.refetch()} />}
      {!c && !cluster.error && <SkeletonLines lines={6} />}
      {c && (
        <>
          <Facts
            facts={[
              ...(made ? [{ label: 'Phase', value: <Status word={wordOfPhase(made)} label={made} /> }] : []),
              { label: 'Freshness', value: <Status word={c.freshness} at={c.polledAt} /> },
              { label: 'Tunnel', value: <Status word={c.tunnel} at={c.tunnelSince} /> },
              { label: 'Services', value: `${count(c.servicesHealthy)} of ${count(c.services)} healthy` },
              { label: 'Nodes', value: c.nodes ? count(c.nodes) : 'unknown' },
              { label: 'Kubernetes', value: c.kubernetesVersion || 'unknown' },
              { label: 'Agent', value: c.agentVersion || 'unknown' },
            ]}
          />
          {c.message && <p>{c.message}</p>}
          {Object.keys(c.tags).length > 0 && <Tags tags={c.tags} />}
          <div className={styles.section}>
            <h3>Services that need you</h3>
            {rows.length === 0 ? (
              <p>
                <Status word="Healthy" label="none" />
              </p>
            ) : (
              <ul className={styles.list}>
                {rows.map((s) => (
                  <li key={s.id}>
                    <Link to={`/services/${encodeURIComponent(s.cluster)}/${encodeURIComponent(s.name)}`}>{s.name}</Link>
                    <Status word={s.verdict} title={s.message || undefined} dim={s.freshness === 'Stale'} />
                  </li>
                ))}
                {Number(services.data?.total ?? 0) > rows.length && (
                  <li>
                    <Link to={`${clusterHref(name)}/services`} search={{ verdict: ['Failed', 'Drifted'] } as never}>
                      All {count(services.data!.total)}
                    </Link>
                  </li>
                )}
              </ul>
            )}
          </div>
        </>
      )}
      <div className={styles.actions}>
        <Link to={clusterHref(name)} className={buttonClass('primary')}>
          Open the cluster
        </Link>
        <Link to={`${clusterHref(name)}/services`} className={buttonClass()}>
          Services
        </Link>
      </div>
    </Peek>
  )
  return floating ? <div className={styles.floating}>{peek}</div> : peek
}
