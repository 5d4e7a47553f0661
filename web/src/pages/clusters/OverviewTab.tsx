import { Link } from '@tanstack/react-router'
import styles from './clusters.module.css'
import tab from './OverviewTab.module.css'
import { AlertsPanel } from './Alerts'
import { PlaceLinks } from './Links'
import { Tags, clusterHref } from './columns'
import { MadePanels } from './MadePanels'
import { madeWord } from './made'
import { useCluster, useManagement } from './useCluster'
import { keyOf, useCall } from '#/api/call'
import { Fleet, type ServiceRow } from '#/api/gen/hub/v1/fleet_pb'
import { ManagedBy } from '#/ds/ManagedBy'
import { Panel } from '#/ds/Panel'
import { SkeletonLines } from '#/ds/Skeleton'
import { Command } from '#/ds/Copy'
import { Empty, ErrorPanel } from '#/ds/State'
import { Facts, Muted, count } from '#/ds/Text'
import { useHint } from '#/live/useLive'
import { Changes } from '#/pages/fleet/Changes'
import { Age, Time, useTicking } from '#/status/Age'
import { millis, spanOf } from '#/status/age'
import { Status } from '#/status/Status'
import { countOf, serviceVerdicts } from '#/status/rollup'

// One cluster's truth: what needs a person, the agent, what changed.
export function Page() {
  const { name, data: cluster } = useCluster()
  const query = { filter: { cluster: [name] }, sort: 'verdict', limit: 12, facets: true }
  const services = useCall(Fleet.method.queryServices, query, { keep: true })
  useHint(['services', 'events'], keyOf(Fleet.method.queryServices, query), keyOf(Fleet.method.recentChanges))
  const by = useManagement(cluster?.origin?.managementCluster)
  if (!cluster) return null
  const made = cluster.origin && <MadePanels cluster={cluster} origin={cluster.origin} by={by} />
  const making = madeWord(cluster) !== undefined
  const verdicts = services.data?.facets.find((f) => f.field === 'verdict')?.values ?? []
  const bad = (services.data?.rows ?? []).filter((s) => ['Failed', 'Drifted', 'Stale'].includes(s.verdict))
  return (
    <div className={tab.columns}>
      <div className={tab.main}>
        {making && made}
        <Panel title="Services" flush aside={<Link to={`${clusterHref(name)}/services`}>{services.data ? `All ${count(services.data.total)}` : 'All'}</Link>}>
          {services.error && !services.data ? (
            <div className={tab.pad}>
              <ErrorPanel title="Can't read the services" error={services.error} retry={() => void services.refetch()} />
            </div>
          ) : !services.data ? (
            <div className={tab.pad}>
              <SkeletonLines lines={4} />
            </div>
          ) : services.data.total === 0n ? (
            <Empty title="No services on this cluster yet">
              <Command command={`axle services create ${name}/hello --repo my-repo --ref main --folder hello`} />
            </Empty>
          ) : (
            <>
              <p className={tab.counts}>
                {serviceVerdicts
                  .filter((v) => countOf(verdicts, v) > 0)
                  .map((v) => (
                    <Link key={v} to={`${clusterHref(name)}/services`} search={{ verdict: v } as never}>
                      <Status word={v} label={`${count(countOf(verdicts, v))} ${v}`} />
                    </Link>
                  ))}
              </p>
              {bad.length > 0 && (
                <ul className={tab.bad}>
                  {bad.map((s) => (
                    <BadService key={s.id} service={s} />
                  ))}
                </ul>
              )}
            </>
          )}
        </Panel>
        {cluster.tunnel !== 'Off' && <AlertsPanel cluster={name} tunnel={cluster.tunnel} />}
        {!making && made}
        <Changes cluster={name} limit={15} />
      </div>
      <div className={tab.main}>
        {!making && (
          <Panel title="Metrics and logs">
            <Facts facts={[{ label: 'Metrics', value: <Link to={`${clusterHref(name)}/metrics`}>Graphs and dashboards</Link> }, { label: 'Logs', value: <Link to={`${clusterHref(name)}/logs`}>Search its store of logs</Link> }]} />
          </Panel>
        )}
        <Panel title="Agent">
          <Facts
            facts={[
              { label: 'Version', value: cluster.agentVersion || <Muted>unknown</Muted> },
              { label: 'Polls every', value: cluster.pollIntervalMicros ? spanOf(millis(cluster.pollIntervalMicros)) : <Muted>unknown</Muted> },
              { label: 'Last poll', value: <Age at={cluster.polledAt} after="ago" /> },
              { label: 'Next poll', value: <NextPoll polledAt={cluster.polledAt} every={cluster.pollIntervalMicros} /> },
              { label: 'Tunnel', value: <Status word={cluster.tunnel} at={cluster.tunnelSince} /> },
              { label: 'Last ping', value: <Age at={cluster.pingedAt} after="ago" /> },
            ]}
          />
        </Panel>
        <Panel title="Cluster">
          <Facts
            facts={[
              { label: 'Kubernetes', value: cluster.kubernetesVersion || <Muted>unknown</Muted> },
              { label: 'Distribution', value: cluster.distro || <Muted>unknown</Muted> },
              { label: 'Nodes', value: cluster.nodes ? count(cluster.nodes) : <Muted>unknown</Muted> },
              { label: 'Handle', value: cluster.handle },
              { label: 'Project', value: cluster.project },
              { label: 'Managed by', value: <ManagedBy manager={cluster.managedBy} /> },
              { label: 'Created', value: <Time at={cluster.createdAt} /> },
              { label: 'Tags', value: Object.keys(cluster.tags).length ? <Tags tags={cluster.tags} /> : <Muted>none</Muted>, wide: true },
            ]}
          />
          <PlaceLinks cluster={name} />
        </Panel>
        <Panel title="kubectl">
          <div className={styles.section}>
            <p>A kubeconfig that reaches this cluster through the hub, under your own name:</p>
            <Command command={`axle clusters kubeconfig ${name}`} />
          </div>
        </Panel>
      </div>
    </div>
  )
}

function BadService({ service }: { service: ServiceRow }) {
  return (
    <li>
      <div>
        <Link to={`/services/${encodeURIComponent(service.cluster)}/${encodeURIComponent(service.name)}`}>{service.name}</Link>
        <Status word={service.verdict} at={service.reportedAt} dim={service.freshness === 'Stale' && service.verdict !== 'Stale'} />
      </div>
      {service.message && <p>{service.message}</p>}
    </li>
  )
}

function NextPoll({ polledAt, every }: { polledAt: bigint; every: bigint }) {
  const text = useTicking((now) => {
    if (!polledAt || !every) return 'unknown'
    const wait = millis(polledAt) + millis(every) - now
    return wait > 0 ? `in ${spanOf(Math.ceil(wait / 1000) * 1000)}` : `overdue by ${spanOf(Math.floor(-wait / 1000) * 1000)}`
  })
  return <>{text}</>
}
