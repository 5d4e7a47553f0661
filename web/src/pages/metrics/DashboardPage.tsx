import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useEffect, useMemo, useRef, useState } from 'react'
import styles from './Metrics.module.css'
import { Notices, Source } from './Notes'
import { behindOf, cutOf, formatOf } from './data'
import { type Dashboard, useDashboard } from './dashboards'
import { type RangeState, useRange } from './useRange'
import { useSeries } from './useSeries'
import { useCall } from '#/api/call'
import { type DrawDashboardResponse, type DrawnGraph, type DrawnVariable, Dashboards } from '#/api/gen/hub/v1/dashboards_pb'
import { type Search, textOf } from '#/app/search'
import { Chart } from '#/ds/chart/Chart'
import { sliceOf } from '#/ds/chart/range'
import { TimeRange, usualSlices } from '#/ds/chart/TimeRange'
import { Crumbs } from '#/ds/Crumbs'
import { Select, TextField } from '#/ds/Form'
import { SkeletonLines } from '#/ds/Skeleton'
import { Empty, ErrorPanel } from '#/ds/State'
import { KubeError } from '#/pages/k8s/kube/KubeError'
import { LiveGate } from '#/pages/k8s/kube/LiveGate'
import { useKubeTitle } from '#/pages/k8s/kube/useKubeTitle'

// Graphs that are asked at once: those that come into view.
const chunk = 10

export function Page() {
  const { cluster = '', ns = '', name = '' } = useParams({ strict: false }) as Record<string, string | undefined>
  return (
    <LiveGate>
      <Read key={`${cluster} ${ns} ${name}`} cluster={cluster} namespace={ns} name={name} />
    </LiveGate>
  )
}

function Read({ cluster, namespace, name }: { cluster: string; namespace: string; name: string }) {
  const { data, error, refetch } = useDashboard(cluster, namespace, name)
  useKubeTitle(`${data?.settings.name || name} · ${cluster}`)
  return (
    <>
      <header className={styles.head}>
        <Crumbs label="Where the dashboard is" items={[{ label: 'Metrics', to: `/clusters/${encodeURIComponent(cluster)}/metrics` }]} />
        <h2>{data?.settings.name || name}</h2>
        {data?.settings.description && <p>{data.settings.description}</p>}
      </header>
      {error && !data ? <KubeError title={`Can't read the dashboard ${name}`} error={error} retry={() => void refetch()} /> : data ? <Drawn cluster={cluster} dashboard={data} /> : <SkeletonLines lines={6} />}
    </>
  )
}

const variable = 'var.'

function Drawn({ cluster, dashboard: { settings } }: { cluster: string; dashboard: Dashboard }) {
  const slices = settings.timeslices.filter((s) => sliceOf(s) !== undefined)
  const range = useRange(settings.defaultTime || slices[0] || '1h')
  const search = useSearch({ strict: false }) as Search
  const navigate = useNavigate()
  const chosen = JSON.stringify(Object.fromEntries(settings.labels.map((l) => [l.name, textOf(search[variable + l.name])]).filter(([, v]) => v)))
  const variables = useMemo(() => JSON.parse(chosen) as Record<string, string>, [chosen])
  const [shown, setShown] = useState(1)
  const chunks = Math.ceil(settings.graphs.length / chunk)
  const [first, setFirst] = useState<DrawDashboardResponse>()
  const choose = (name: string, value: string) => void navigate({ to: '.', search: (before: Search) => ({ ...before, [variable + name]: value || undefined }), resetScroll: false } as never)
  if (settings.graphs.length === 0) return <Empty title="The dashboard has no graphs">Its object has none in spec.graphs.</Empty>
  return (
    <div className={styles.page}>
      <div className={styles.bar}>
        {settings.labels.map((l) => (
          <Choice key={l.name} name={l.name} drawn={first?.variables.find((v) => v.name === l.name)} chosen={variables[l.name] ?? ''} onChange={(value) => choose(l.name, value)} />
        ))}
        <TimeRange value={range.text} slices={slices.length > 0 ? slices : usualSlices} onChange={range.choose} onRefresh={range.refresh} />
      </div>
      {first && <Notices notices={first.notices} namespaces={first.namespaces} />}
      <div className={styles.graphs}>
        {Array.from({ length: Math.min(shown, chunks) }, (_, n) => (
          <Chunk key={n} cluster={cluster} settings={settings} variables={variables} range={range} from={n * chunk} onDrawn={n === 0 ? setFirst : undefined} />
        ))}
      </div>
      {shown < chunks && <More key={shown} onSeen={() => setShown(shown + 1)} />}
      {first?.source && <Source source={first.source} />}
    </div>
  )
}

function Choice({ name, drawn, chosen, onChange }: { name: string; drawn: DrawnVariable | undefined; chosen: string; onChange: (value: string) => void }) {
  const value = chosen || drawn?.value || ''
  const values = drawn?.values ?? []
  if (drawn && values.length === 0) return <TextField key={value} label={name} defaultValue={value} hint={drawn.message || undefined} onChange={() => {}} onBlur={(e) => onChange(e.target.value)} />
  // A value of a link that is gone since still shows.
  const all = value && !values.includes(value) ? [value, ...values] : values
  return <Select label={name} small value={value} disabled={!drawn} options={all.map((v) => ({ value: v, label: v }))} onChange={onChange} />
}

// More asks for the next graphs when somebody scrolls to where they will be.
function More({ onSeen }: { onSeen: () => void }) {
  const mark = useRef<HTMLDivElement>(null)
  const seen = useRef(onSeen)
  useEffect(() => {
    const watch = new IntersectionObserver((all) => all.some((e) => e.isIntersecting) && seen.current(), { rootMargin: '400px' })
    watch.observe(mark.current!)
    return () => watch.disconnect()
  }, [])
  return (
    <div ref={mark}>
      <SkeletonLines lines={3} />
    </div>
  )
}

interface ChunkProps {
  cluster: string
  settings: Dashboard['settings']
  variables: Record<string, string>
  range: RangeState
  from: number
  onDrawn: ((answer: DrawDashboardResponse) => void) | undefined
}

function Chunk({ cluster, settings, variables, range, from, onDrawn }: ChunkProps) {
  const { startMicros, endMicros } = range
  const some = settings.graphs.slice(from, from + chunk)
  const { data, error, refetch } = useCall(Dashboards.method.draw, { cluster, dashboard: settings, variables, graphs: some.map((_, i) => from + i + 1), startMicros, endMicros }, { keep: true, staleTime: 30_000 })
  useEffect(() => {
    if (data) onDrawn?.(data)
  }, [data, onDrawn])
  if (error && !data) return <ErrorPanel title="Can't draw the dashboard" error={error} retry={() => void refetch()} />
  return some.map((g, i) => {
    const drawn = data?.graphs.find((d) => d.number === from + i + 1)
    // oxlint-disable-next-line react/no-array-index-key -- graphs have no other name
    return data && drawn ? <Graph key={i} graph={drawn} asked={data} group={`${cluster} ${settings.name}`} now={range.now} zoom={range.zoom} /> : <Chart key={i} title={g.name} unit="none" series={undefined} />
  })
}

function Graph({ graph, asked, group, now, zoom }: { graph: DrawnGraph; asked: DrawDashboardResponse; group: string; now: number; zoom: RangeState['zoom'] }) {
  const series = useSeries(asked, graph.queries)
  const newest = graph.queries.reduce((n, q) => (q.newestMicros > n ? q.newestMicros : n), 0n)
  return <Chart title={graph.name} unit={formatOf(graph.format)} series={series} found={cutOf(graph)} behind={behindOf(newest, asked, now)} message={graph.message || undefined} group={group} onZoom={zoom} />
}
