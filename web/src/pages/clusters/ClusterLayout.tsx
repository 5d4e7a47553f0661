import { Link, Outlet, useLocation } from '@tanstack/react-router'
import { useEffect } from 'react'
import { verdictOf, worstFact } from './verdict'
import { madeWord, wordOfPhase } from './made'
import { clusterTabs, linkedPages } from './tabs'
import { useCluster } from './useCluster'
import { visited } from '#/app/preferences'
import { buttonClass } from '#/ds/Button'
import { Command } from '#/ds/Copy'
import { Crumbs } from '#/ds/Crumbs'
import { PageHeader } from '#/ds/PageHeader'
import { Banner, ErrorPanel } from '#/ds/State'
import { TabNav } from '#/ds/TabNav'
import { keyOf, useCall } from '#/api/call'
import { Fleet } from '#/api/gen/hub/v1/fleet_pb'
import type { ClusterOrigin } from '#/api/gen/hub/v1/hub_pb'
import { Muted } from '#/ds/Text'
import { useHint } from '#/live/useLive'
import { Clock, RefreshCw, TriangleAlert, Unplug } from 'lucide-react'
import { Age } from '#/status/Age'
import { Status } from '#/status/Status'
import styles from './ClusterLayout.module.css'

// The header and tabs of a cluster; the tab is below.
export function Page() {
  const { name, data: cluster, error, refetch } = useCluster()
  const { pathname } = useLocation()
  const counts = { filter: { cluster: [name] }, limit: 1, facets: true }
  const services = useCall(Fleet.method.queryServices, counts, { keep: true })
  useHint(['services'], keyOf(Fleet.method.queryServices, counts))
  const facets = services.data?.facets ?? []
  const sync = worstFact(facets, 'sync')
  const health = worstFact(facets, 'health')
  const dim = cluster?.freshness !== 'Fresh'
  const base = `/clusters/${encodeURIComponent(name)}`
  const below = pathname.slice(base.length).split('/')[1] ?? ''
  const word = cluster && verdictOf(cluster, facets)
  const made = madeWord(cluster)
  const linked = linkedPages.find((t) => t.path === (below === 'dashboards' ? 'metrics' : below))
  const current = clusterTabs.find((t) => t.path === below) ?? linked
  const shownTabs = linked ? [...clusterTabs, linked] : clusterTabs
  useEffect(() => {
    if (cluster) visited(name)
  }, [cluster, name])
  return (
    <>
      <PageHeader
        title={current && current.path ? `${name}: ${current.label}` : name}
        heading={name}
        beside={word && <Status word={made ? wordOfPhase(word) : word} label={made} chip />}
        crumbs={<Crumbs items={[{ label: 'Clusters', to: '/clusters' }]} />}
      >
        {cluster && (
          <dl className={styles.facts}>
            <div>
              <dt>Sync</dt>
              <dd>{sync ? <Status word={sync.word} label={sync.label} dim={dim} at={dim ? cluster.polledAt : undefined} /> : <Muted>no services</Muted>}</dd>
            </div>
            <div>
              <dt>Health</dt>
              <dd>{health ? <Status word={health.word} label={health.label} dim={dim} at={dim ? cluster.polledAt : undefined} /> : <Muted>no services</Muted>}</dd>
            </div>
            <div>
              <dt>Freshness</dt>
              <dd>
                <Status word={cluster.freshness} at={cluster.polledAt} />
              </dd>
            </div>
            <div>
              <dt>Tunnel</dt>
              <dd>
                <Status word={cluster.tunnel} at={cluster.tunnelSince} />
              </dd>
            </div>
          </dl>
        )}
        <TabNav label="Cluster" current={current?.label ?? ''} tabs={shownTabs.map((t) => ({ label: t.label, to: t.path ? `${base}/${t.path}` : base }))} />
      </PageHeader>
      {error && <ErrorPanel title={`Can't read the cluster ${name}`} error={error} retry={() => void refetch()} />}
      {cluster?.message && (
        <Banner tone="bad" icon={TriangleAlert}>
          {cluster.message}
        </Banner>
      )}
      {cluster?.pending && below !== 'settings' && (
        <Banner tone="warn" icon={Clock} actions={<Link to={`${base}/settings`} className={buttonClass()}>Look at it and approve</Link>}>
          <strong>Waits for approval.</strong> It gets no services until somebody approves it.
        </Banner>
      )}
      {cluster?.origin && made && <Making origin={cluster.origin} />}
      {cluster && !cluster.pending && !made && cluster.polledAt === 0n && (
        <Banner tone="idle" icon={Clock}>
          <strong>No agent has contacted the hub.</strong> Install it where kubectl reaches the cluster:
          <Command command={`axle clusters connect ${name}`} />
        </Banner>
      )}
      {cluster && !made && current?.live && cluster.tunnel !== 'Up' && (
        <Banner tone="warn" icon={Unplug}>
          <strong>Live view unavailable, deploys go on.</strong> The agent's tunnel is {cluster.tunnel.toLowerCase()}; its last poll was <Age at={cluster.polledAt} after="ago" />.
        </Banner>
      )}
      {cluster && <Outlet />}
    </>
  )
}

// Making is what goes on with a cluster from a template that has no agent, or none for long.
function Making({ origin: { managementCluster: on, template, destroying, state } }: { origin: ClusterOrigin }) {
  const by = <Link to={`/clusters/${encodeURIComponent(on)}`}>{on}</Link>
  return (
    <Banner tone="busy" icon={RefreshCw}>
      {destroying ? (
        <>
          <strong>Being destroyed.</strong> {by} deletes it and waits until Cluster API has removed the machines. It leaves the hub when they are gone.
        </>
      ) : (
        <>
          <strong>Being made by {by}</strong> from the template {template}. It connects by itself once its control plane answers.{state?.message && ` It waits: ${state.message}.`}
        </>
      )}
    </Banner>
  )
}
