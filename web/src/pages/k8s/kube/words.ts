// What the many words of Kubernetes for a state mean, as the console's own few.

const good = new Set(['Running', 'Active', 'Bound', 'Available', 'Ready', 'Complete', 'Completed', 'Succeeded', 'Established', 'Approved', 'Healthy', 'Normal'])
const busy = new Set(['Pending', 'ContainerCreating', 'PodInitializing', 'Terminating', 'Progressing', 'Creating', 'Released', 'Suspending'])
const bad = /(Error|BackOff|Failed|Evicted|OOMKilled|Crash|ErrImage|Invalid|Lost|DeadlineExceeded|ContainerStatusUnknown|NodeLost|Unschedulable)/

// stateOf returns the console's word for a state of Kubernetes.
export function stateOf(text: string): string {
  if (good.has(text)) return 'Healthy'
  if (bad.test(text)) return 'Failed'
  if (busy.has(text) || /^Init:\d/.test(text)) return 'Progressing'
  if (/SchedulingDisabled/.test(text)) return 'Paused'
  if (text.startsWith('NotReady')) return 'Failed'
  if (text === 'Warning') return 'Degraded'
  if (text === 'Suspended') return 'Suspended'
  return 'Unknown'
}

// readyOf reads "2/3".
export function readyOf(text: string): { ready: number; wanted: number } | undefined {
  const parts = /^(\d+)\/(\d+)$/.exec(text)
  return parts ? { ready: Number(parts[1]), wanted: Number(parts[2]) } : undefined
}
