import type { FleetSummary } from '#/api/gen/hub/v1/fleet_pb'
import { count, many } from '#/ds/Text'
import { countOf } from '#/status/rollup'

export interface Verdict {
  word: string
  sentence: string
}

// verdictOf is the fleet in one sentence: whether somebody must act, and on what.
export function verdictOf(summary: Pick<FleetSummary, 'clusters' | 'clustersByVerdict'>): Verdict {
  const total = Number(summary.clusters)
  const of = (word: string) => countOf(summary.clustersByVerdict, word)
  const failed = of('Failed')
  const drifted = of('Drifted')
  const stale = of('Stale')
  const pending = of('Pending')
  const progressing = of('Progressing')
  const needs = failed + drifted + stale + pending
  if (total === 0) return { word: 'Pending', sentence: 'No clusters yet' }
  if (needs === 0) {
    const all = total === 1 ? 'The one cluster is healthy' : `All ${count(total)} clusters are healthy`
    return progressing ? { word: 'Progressing', sentence: `${total === 1 ? 'The one cluster is well' : `All ${count(total)} clusters are well`}, ${count(progressing)} progressing` } : { word: 'Healthy', sentence: all }
  }
  const parts = [failed && `${count(failed)} with failed services`, drifted && `${count(drifted)} drifted`, stale && `${count(stale)} stale`, pending && `${count(pending)} pending`].filter(Boolean)
  const what = needs === total && total === 1 ? 'The one cluster needs you' : `${count(needs)} of ${many(total, 'cluster')} ${needs === 1 ? 'needs' : 'need'} you`
  return { word: failed ? 'Failed' : drifted ? 'Drifted' : stale ? 'Stale' : 'Pending', sentence: `${what}: ${parts.join(', ')}` }
}
