// The tabs of an object, each with the key that opens it.
export interface ObjectTab {
  id: string
  label: string
  keys: string
}

export const objectTabs: ObjectTab[] = [
  { id: 'summary', label: 'Summary', keys: 'd' },
  { id: 'yaml', label: 'YAML', keys: 'y' },
  { id: 'events', label: 'Events', keys: 'e' },
  { id: 'metrics', label: 'Metrics', keys: 'm' },
  { id: 'logs', label: 'Logs', keys: 'l' },
  { id: 'exec', label: 'Terminal', keys: 'x' },
  { id: 'related', label: 'Related', keys: 'r' },
]

const withPods = new Set(['pods', 'deployments', 'statefulsets', 'daemonsets', 'replicasets', 'jobs', 'cronjobs', 'replicationcontrollers', 'services'])

export function tabsFor(group: string, resource: string): ObjectTab[] {
  const runs = withPods.has(resource) && ['', 'apps', 'batch'].includes(group)
  return objectTabs.filter((t) => runs || !['logs', 'exec', 'metrics'].includes(t.id))
}
