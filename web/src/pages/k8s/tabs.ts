import type { ClusterTab } from '#/pages/clusters/tabs'

// The tabs of a cluster that read it live.
export const k8sTabs: ClusterTab[] = [
  { label: 'Workloads', path: 'workloads', live: true },
  { label: 'Nodes', path: 'nodes', live: true },
  { label: 'Explore', path: 'k8s', live: true },
]
