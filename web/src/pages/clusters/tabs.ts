import { k8sTabs } from '#/pages/k8s/tabs'

export interface ClusterTab {
  label: string
  // Below /clusters/:cluster; empty is the overview.
  path: string
  // Reads the cluster live, through its tunnel.
  live?: boolean
}

// Pages of a cluster that its overview links, so that there are no more than seven tabs; one is a
// tab while it is open.
export const linkedPages: ClusterTab[] = [{ label: 'Metrics', path: 'metrics', live: true }, { label: 'Logs', path: 'logs', live: true }]

// The tabs of a cluster, seven at most.
export const clusterTabs: ClusterTab[] = [{ label: 'Overview', path: '' }, { label: 'Services', path: 'services' }, ...k8sTabs, { label: 'Readiness', path: 'readiness', live: true }, { label: 'Settings', path: 'settings' }]
