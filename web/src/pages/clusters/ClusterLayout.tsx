import { Outlet, useLocation } from '@tanstack/react-router'
import { useEffect } from 'react'
import { clusterTabs } from './tabs'
import { useCluster } from './useCluster'
import { visited } from '#/app/preferences'
import { Crumbs } from '#/ds/Crumbs'
import { PageHeader } from '#/ds/PageHeader'
import { ErrorPanel } from '#/ds/State'
import { TabNav } from '#/ds/TabNav'
import { Status } from '#/status/Status'
import styles from './ClusterLayout.module.css'

// The header and tabs of a cluster; the tab is below.
export function Page() {
  const { name, data: cluster, error, refetch } = useCluster()
  const { pathname } = useLocation()
  const base = `/clusters/${encodeURIComponent(name)}`
  const below = pathname.slice(base.length).split('/')[1] ?? ''
  const current = clusterTabs.find((t) => t.path === below)
  useEffect(() => {
    if (cluster) visited(name)
  }, [cluster, name])
  return (
    <>
      <PageHeader
        title={current && current.path ? `${name}: ${current.label}` : name}
        heading={name}
        crumbs={<Crumbs items={[{ label: 'Clusters', to: '/clusters' }]} />}
      >
        {cluster && (
          <dl className={styles.facts}>
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
        <TabNav label="Cluster" current={current?.label ?? ''} tabs={clusterTabs.map((t) => ({ label: t.label, to: t.path ? `${base}/${t.path}` : base }))} />
      </PageHeader>
      {error && <ErrorPanel title={`Can't read the cluster ${name}`} error={error} retry={() => void refetch()} />}
      {cluster && <Outlet />}
    </>
  )
}
