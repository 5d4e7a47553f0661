export interface WaveTarget {
  cluster: string
  wave: number
  state: string
  message: string
}

export interface WaveRow {
  wave: number
  total: number
  counts: Map<string, number>
}

// States from what needs a person to what is done; others follow.
export const order = ['Failed', 'Absent', 'Placed', 'Waiting', 'Reverted', 'Good', 'Unchanged']

export function statesOf(targets: WaveTarget[]): string[] {
  const seen = new Set(targets.map((t) => t.state))
  return [...order.filter((s) => seen.delete(s)), ...[...seen].toSorted()]
}

// matrixOf counts the states of each wave; waves without clusters are rows too.
export function matrixOf(targets: WaveTarget[], waves: number): WaveRow[] {
  const rows = new Map<number, WaveRow>()
  for (let wave = 1; wave <= waves; wave++) rows.set(wave, { wave, total: 0, counts: new Map() })
  for (const t of targets) {
    const row = rows.get(t.wave) ?? { wave: t.wave, total: 0, counts: new Map() }
    rows.set(t.wave, row)
    row.total++
    row.counts.set(t.state, (row.counts.get(t.state) ?? 0) + 1)
  }
  return [...rows.values()].toSorted((a, b) => a.wave - b.wave)
}

export interface WaveFilter {
  wave: string
  state: string
}

export function shownTargets<T extends WaveTarget>(targets: T[], { wave, state }: WaveFilter): T[] {
  const rank = new Map(statesOf(targets).map((s, i) => [s, i]))
  return targets
    .filter((t) => (!wave || String(t.wave) === wave) && (!state || t.state === state))
    .toSorted((a, b) => (rank.get(a.state) ?? 0) - (rank.get(b.state) ?? 0) || a.wave - b.wave || a.cluster.localeCompare(b.cluster))
}
