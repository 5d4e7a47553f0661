import { madeWord } from './made'
import type { Facet } from '#/api/gen/hub/v1/fleet_pb'
import type { Cluster } from '#/api/gen/hub/v1/hub_pb'
import { count } from '#/ds/Text'
import { countOf, worstOf } from '#/status/rollup'

// Told is one fact about all services of a cluster: the worst word, and how many
// have it.
export interface Told {
  word: string
  label: string
}

export function worstFact(facets: readonly Facet[], field: string): Told | undefined {
  const values = facets.find((f) => f.field === field)?.values.filter((v) => v.count > 0n) ?? []
  if (values.length === 0) return undefined
  const word = worstOf(values.map((v) => v.value))
  const n = countOf(values, word)
  const all = values.reduce((sum, v) => sum + Number(v.count), 0)
  return { word, label: n === all ? `${all === 1 ? '' : 'all '}${count(n)} ${word}` : `${count(n)} of ${count(all)} ${word}` }
}

// verdictOf is the worst fresh state of a cluster and its services, or how far one is that is made or destroyed.
export function verdictOf(cluster: Pick<Cluster, 'registered' | 'pending' | 'freshness' | 'origin'>, facets: readonly Facet[]): string {
  const verdicts = facets.find((f) => f.field === 'verdict')?.values ?? []
  const has = (word: string) => countOf(verdicts, word) > 0
  const made = madeWord(cluster)
  if (made) return made
  if (cluster.pending || !cluster.registered) return 'Pending'
  if (cluster.freshness === 'Stale') return 'Stale'
  for (const word of ['Failed', 'Drifted']) if (has(word)) return word
  return has('Progressing') || has('Pending') ? 'Progressing' : 'Healthy'
}
