// From the worst to the best; what the hub's verdicts say, in this order.
export const clusterVerdicts = ['Failed', 'Stale', 'Pending', 'Progressing', 'Healthy'] as const
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

// rollUp returns the worst fresh state. What a silent agent said last is no
// longer known to be true: good or under way becomes Stale, bad stays bad.
export function rollUp({ sync, health, freshness }: Facts): string {
  let worst = 'Healthy'
  if (sync === 'Failed' || sync === 'Held' || health === 'Degraded') worst = 'Failed'
  else if (sync === 'Drifted' || health === 'Missing') worst = 'Drifted'
  else if (freshness === 'Stale') worst = 'Stale'
  else if (sync === 'Paused' || health === 'Suspended') worst = 'Paused'
  else if (sync === 'Applying' || health === 'Progressing') worst = 'Progressing'
  else if (sync === 'Pending' || freshness !== 'Fresh' || sync === '' || health === 'Unknown' || health === '') worst = 'Pending'
  return worst
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
