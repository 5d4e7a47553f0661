import { useMemo } from 'react'
import type { RangeState } from './useRange'
import { keyOf, useCall } from '#/api/call'
import { type Event, Events, type Revision, Services } from '#/api/gen/hub/v1/hub_pb'
import type { Marker } from '#/ds/chart/series'
import { short } from '#/ds/Text'
import { useHint } from '#/live/useLive'

// Events that are read: enough for a range of days.
const most = 500

const perSecond = 1e6

export interface Deployments {
  markers: Marker[]
  // The events that were read do not reach to the beginning of the range.
  cut: boolean
}

// Events that have a line in the graphs; that of an applied revision names the revision.
const kinds = new Map([
  ['service.failed', 'failed'],
  ['service.recovered', 'recovered'],
])

// deploymentsIn are the times in a range at which a cluster applied a revision of a service, and at
// which the service failed or recovered. The hub keeps the commits of the last revisions only; of
// older ones there is the name alone.
export function deploymentsIn(events: Event[], revisions: Revision[], range: Pick<RangeState, 'startMicros' | 'endMicros'>): Deployments {
  const markers: Marker[] = []
  for (const e of events) {
    if (e.at < range.startMicros || e.at > range.endMicros) continue
    const at = Number(e.at) / perSecond
    const word = kinds.get(e.kind)
    if (word) markers.push({ at, name: word, text: e.message ? `${word}: ${e.message}` : word })
    if (e.kind !== 'service.applied') continue
    const revision = e.message.replace(/^revision /, '')
    const known = revision ? revisions.find((r) => r.sourceRevision.startsWith(revision)) : undefined
    const subject = known?.message.split('\n')[0] ?? ''
    markers.push({ at, name: short(revision), text: `Applied ${known ? `revision ${known.number}, ` : ''}${revision}${subject && `: ${subject}`}` })
  }
  const oldest = events.at(-1)
  return { markers: markers.toReversed(), cut: events.length >= most && oldest !== undefined && oldest.at > range.startMicros }
}

const none: Deployments = { markers: [], cut: false }

// useDeployments reads them again when the hub has newer events.
export function useDeployments(cluster: string, service: string | undefined, range: RangeState): Deployments {
  const enabled = service !== undefined
  const input = { cluster, service: service ?? '', limit: most }
  const events = useCall(Events.method.list, input, { enabled, keep: true, staleTime: 30_000 })
  useHint(['events'], keyOf(Events.method.list, input))
  const revisions = useCall(Services.method.listRevisions, { ref: { cluster, name: service ?? '' } }, { enabled, keep: true, staleTime: 30_000 })
  const { startMicros, endMicros } = range
  return useMemo(() => (events.data ? deploymentsIn(events.data.events, revisions.data?.revisions ?? [], { startMicros, endMicros }) : none), [events.data, revisions.data, startMicros, endMicros])
}
