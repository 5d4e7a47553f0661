import { k8sTabs } from '#/pages/k8s/tabs'

export interface ClusterTab {
  label: string
  // Below /clusters/:cluster; empty is the overview.
  path: string
  // Reads the cluster live, through its tunnel.
  live?: boolean
}

// The tabs of a cluster, seven at most.
export const clusterTabs: ClusterTab[] = [{ label: 'Overview', path: '' }, { label: 'Services', path: 'services' }, ...k8sTabs, { label: 'Readiness', path: 'readiness', live: true }, { label: 'Settings', path: 'settings' }]
