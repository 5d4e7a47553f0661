import { useMemo } from 'react'
import { type Asked, seriesOf } from './data'
import type { MetricSeries } from '#/api/gen/hub/v1/observe_pb'

// useSeries is the data of a graph; it is the same object while the answer is.
export function useSeries(asked: Asked, queries: { series: MetricSeries[] }[]) {
  return useMemo(() => seriesOf(asked, queries.flatMap((q) => q.series)), [asked, queries])
}
