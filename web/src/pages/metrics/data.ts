import type { DrawnGraph } from '#/api/gen/hub/v1/dashboards_pb'
import type { MetricSeries } from '#/api/gen/hub/v1/observe_pb'
import { gridOf, type Series } from '#/ds/chart/series'
import type { Unit } from '#/ds/chart/units'

const perSecond = 1e6

// The range that was asked, in microseconds.
export interface Asked {
  startMicros: bigint
  endMicros: bigint
  stepMicros: bigint
}

// formatOf is the unit of a graph of a Dashboard, whose percent are fractions.
export function formatOf(format: string): Unit {
  return format === 'bytes' || format === 'percent' ? format : 'none'
}

// unitOf is the unit of a panel, as the API names it.
export function unitOf(name: string): Unit {
  switch (name) {
    case 'requests/s':
      return 'per second'
    case 'cores':
    case 'bytes':
    case 'bytes/s':
    case 'seconds':
      return name
    case 'percent':
      return 'hundredths'
    default:
      return 'none'
  }
}

function nameOf(s: MetricSeries): string {
  return s.legend || s.labels.map((l) => `${l.name}=${l.value}`).join(', ')
}

// seriesOf puts what was found onto the times that were asked: what is missing is a hole.
export function seriesOf(asked: Asked, found: MetricSeries[]): Series {
  const [from, to, step] = [Number(asked.startMicros) / perSecond, Number(asked.endMicros) / perSecond, Number(asked.stepMicros) / perSecond]
  if (!(step > 0) || to < from) return { times: [], lines: [] }
  return gridOf(
    from,
    to,
    step,
    found.map((s) => ({ name: nameOf(s), at: s.times.map((at) => Number(at) / perSecond), values: s.values })),
  )
}

// behindOf is how many seconds before the end of the range the newest sample is, if the range
// ends about now; a hole at the end of an old range says nothing about the source.
export function behindOf(newest: bigint, asked: Asked, now: number): number | undefined {
  const end = Number(asked.endMicros) / perSecond
  if (newest === 0n || now - end > 300) return undefined
  return Math.max(0, end - Number(newest) / perSecond)
}

// cutOf is how many series a graph would have with those that did not come.
export function cutOf(graph: DrawnGraph): number {
  return graph.queries.reduce((n, q) => n + q.series.length + q.seriesCut, 0)
}
