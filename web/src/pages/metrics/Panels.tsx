import styles from './Metrics.module.css'
import { Missing, Notices, Source } from './Notes'
import { unitOf } from './data'
import type { RangeState } from './useRange'
import { useSeries } from './useSeries'
import { useCall } from '#/api/call'
import { Metrics } from '#/api/gen/hub/v1/observe_pb'
import { Chart } from '#/ds/chart/Chart'
import type { Marker } from '#/ds/chart/series'
import { ErrorPanel } from '#/ds/State'

interface Props {
  cluster: string
  level: 'cluster' | 'workload' | 'pod' | 'service'
  namespace?: string
  name?: string
  // Of a service: the names of its workloads.
  workloads?: string[]
  range: RangeState
  // Deployments of the object.
  markers?: Marker[] | undefined
}

const none: string[] = []

// Panels are the graphs of an object that come without a dashboard.
export function Panels({ cluster, level, namespace = '', name = '', workloads = none, range, markers }: Props) {
  const { startMicros, endMicros } = range
  const { data, error, refetch } = useCall(Metrics.method.panels, { cluster, level, namespace, name, workloads, startMicros, endMicros }, { keep: true, staleTime: 30_000 })
  if (error && !data) return <ErrorPanel title={`Can't read the metrics of ${name || cluster}`} error={error} retry={() => void refetch()} />
  const group = `${cluster} ${level} ${namespace} ${name}`
  return (
    <div className={styles.page}>
      {data && <Missing missing={data.missing} />}
      {data && <Notices notices={data.notices} namespaces={data.namespaces} />}
      <div className={styles.graphs}>
        {data
          ? data.panels.map((p) => <Panel key={p.name} title={p.title} panel={p} asked={data} group={group} zoom={range.zoom} markers={markers} />)
          : // As many as usually come, so that the page keeps its height.
            ['Processor', 'Memory', 'Network', 'Restarts'].map((title) => <Chart key={title} title={title} unit="none" series={undefined} />)}
      </div>
      {data?.source && <Source source={data.source} />}
    </div>
  )
}

type Answer = NonNullable<ReturnType<typeof useCall<typeof Metrics.method.panels.input, typeof Metrics.method.panels.output>>['data']>

function Panel({ title, panel, asked, group, zoom, markers }: { title: string; panel: Answer['panels'][number]; asked: Answer; group: string; zoom: RangeState['zoom']; markers: Marker[] | undefined }) {
  const series = useSeries(asked, panel.queries)
  return <Chart title={title} unit={unitOf(panel.unit)} series={series} message={panel.message || undefined} group={group} onZoom={zoom} {...(markers ? { markers } : {})} />
}
