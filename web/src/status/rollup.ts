// From the worst to the best; what the hub's verdicts say, in this order.
export const clusterVerdicts = ['Failed', 'Drifted', 'Stale', 'Pending', 'Progressing', 'Healthy'] as const
export const serviceVerdicts = ['Failed', 'Drifted', 'Stale', 'Paused', 'Progressing', 'Pending', 'Healthy'] as const

const badness = new Map<string, number>(['Failed', 'NeedsYou', 'Held', 'Degraded', 'Missing', 'Drifted', 'Stale', 'Down', 'Unknown', 'Paused', 'Suspended', 'Pending', 'Applying', 'Progressing', 'Off', 'Synced', 'Fresh', 'Up', 'Healthy'].map((word, i, all) => [word, all.length - i]))

export function worseThan(a: string, b: string): boolean {
  return (badness.get(a) ?? badness.get('Unknown')!) > (badness.get(b) ?? badness.get('Unknown')!)
}

export interface Facts {
  sync: string
  health: string
  freshness: string
}

// rollUp is the hub's verdict of a service: the worst fresh state. Of a stale
// cluster nothing is known but what was, so that its services are neither Failed
// nor Healthy.
export function rollUp({ sync, health, freshness }: Facts): string {
  if (freshness === 'Stale') return 'Stale'
  if (sync === 'Failed' || sync === 'Held' || health === 'Degraded') return 'Failed'
  if (sync === 'Drifted') return 'Drifted'
  if (sync === 'Paused' || (sync === 'Synced' && health === 'Suspended')) return 'Paused'
  if (sync === 'Applying' || health === 'Progressing' || (sync === 'Synced' && health === 'Missing')) return 'Progressing'
  return sync === 'Synced' && health === 'Healthy' ? 'Healthy' : 'Pending'
}

// worstOf returns the worst of many words, Healthy for none.
export function worstOf(words: Iterable<string>): string {
  let worst = ''
  for (const word of words) if (!worst || worseThan(word, worst)) worst = word
  return worst || 'Healthy'
}

export interface Counted {
  value: string
  count: bigint | number
}

// countOf returns how many have a value.
export function countOf(counts: readonly Counted[], value: string): number {
  return Number(counts.find((c) => c.value === value)?.count ?? 0)
}
