import { ChartLine, Table2 } from 'lucide-react'
import { type KeyboardEvent, memo, useEffect, useId, useMemo, useRef, useState } from 'react'
import { IconButton } from '../Button'
import { Panel } from '../Panel'
import { Skeleton } from '../Skeleton'
import { Banner, Empty, ErrorPanel } from '../State'
import { Table } from '../Table'
import styles from './Chart.module.css'
import type { PlotHandle } from './plot'
import { keysOf, looksOf, type Marker, markersIn, mostLines, noColours, type Series, summaryOf } from './series'
import { momentOf } from './times'
import { type Unit, valueOf } from './units'
import { spanOf } from '#/status/age'

interface Props {
  title: string
  unit: Unit
  // What was found; undefined while it is read.
  series: Series | undefined
  error?: unknown
  retry?: () => void
  // Why there is nothing, or not everything, in words of the hub.
  message?: string | undefined
  // How many series the query found, when not all of them came.
  found?: number | undefined
  // How many seconds ago the newest sample is from, when it is late.
  behind?: number | undefined
  // Sentences from the source, such as which metrics it does not have.
  notes?: string[]
  // What happened at which time, such as deployments.
  markers?: Marker[]
  group?: string | undefined
  height?: number
  onZoom?: (from: number, to: number) => void
}

const late = 300
const none: string[] = []
const noMarkers: Marker[] = []
const rowsOfTable = 120

// The library comes while the data does.
const library = () => import('./plot')

// Chart is one graph of lines over time with its legend, and the same as a table. What it
// shows comes from others: names of lines are texts, whatever is in them.
export const Chart = memo(function Chart({ title, unit, series, error, retry, message, found, behind, notes = none, markers = noMarkers, group, height = 180, onZoom }: Props) {
  useEffect(() => void library().catch(() => {}), [])
  const [table, setTable] = useState(false)
  const shown = useMemo(() => (series && series.lines.length > mostLines ? { ...series, lines: series.lines.slice(0, mostLines) } : series), [series])
  const empty = shown !== undefined && shown.lines.every((l) => l.values.every((v) => v === null))
  const total = Math.max(found ?? 0, series?.lines.length ?? 0)
  const failed = error !== undefined && error !== null
  return (
    <Panel title={title || 'Graph'} aside={shown && !empty && !failed ? <IconButton icon={table ? ChartLine : Table2} label={table ? `Show the graph of ${title}` : `Show ${title} as a table`} aria-pressed={table} onClick={() => setTable(!table)} /> : undefined}>
      <div className={styles.chart}>
        {notes.map((note) => (
          <Banner key={note} tone="idle">
            {note}
          </Banner>
        ))}
        {message && !empty && <Banner tone="warn">{message}</Banner>}
        {behind !== undefined && behind >= late && (
          <Banner tone="warn">
            <strong>{spanOf(behind * 1000)} behind.</strong> The newest sample is that old: the source collects late, or not any more.
          </Banner>
        )}
        {failed ? (
          <ErrorPanel title={`Can't draw ${title || 'this graph'}`} error={error} retry={retry} />
        ) : shown === undefined ? (
          <div className={styles.wait} style={{ height }} aria-busy="true">
            <Skeleton height={height} />
          </div>
        ) : empty ? (
          <Empty title={message ? message.charAt(0).toUpperCase() + message.slice(1) : 'No samples in this range'}>{!message && 'The query is well-formed, and matches nothing here. Another time range may have some.'}</Empty>
        ) : (
          <Drawn title={title} unit={unit} series={shown} markers={markers} group={group} height={height} table={table} onZoom={onZoom} />
        )}
        {total > mostLines && shown && !failed && (
          <p className={styles.more}>
            {shown.lines.length.toLocaleString('en-GB')} of {total.toLocaleString('en-GB')} series. A narrower query shows the rest.
          </p>
        )}
      </div>
    </Panel>
  )
})

interface DrawnProps {
  title: string
  unit: Unit
  series: Series
  markers: Marker[]
  group: string | undefined
  height: number
  table: boolean
  onZoom: ((from: number, to: number) => void) | undefined
}

function Drawn({ title, unit, series, markers: all, group, height, table, onZoom }: DrawnProps) {
  const host = useRef<HTMLDivElement>(null)
  const plot = useRef<PlotHandle>(undefined)
  const [cursor, setCursor] = useState<number>()
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set())
  const markers = useMemo(() => markersIn(all, series.times), [all, series.times])
  const latest = useRef({ series, unit, markers, onZoom, hidden })
  // Where a selection by keyboard began.
  const [anchor, setAnchor] = useState<number>()
  const [error, setError] = useState<unknown>()
  const help = useId()
  const { times, lines } = series
  const ids = useMemo(() => keysOf(lines), [lines])
  const summaries = useMemo(() => lines.map((l) => summaryOf(times, l.values)), [times, lines])

  useEffect(() => {
    latest.current = { series, unit, markers, onZoom, hidden }
  })
  useEffect(() => {
    plot.current?.draw(series, unit)
  }, [series, unit])
  useEffect(() => {
    plot.current?.hide(hidden)
  }, [hidden])
  useEffect(() => {
    plot.current?.mark(markers)
  }, [markers])
  useEffect(() => {
    if (table) return undefined
    let gone = false
    library()
      .then(({ mountPlot }) => {
        if (gone || !host.current) return
        plot.current = mountPlot(host.current, { ...latest.current, group, height, onCursor: setCursor, onZoom: (from, to) => latest.current.onZoom?.(from, to) })
      })
      .catch((e: unknown) => !gone && setError(e))
    return () => {
      gone = true
      plot.current?.destroy()
      plot.current = undefined
    }
  }, [table, group, height])

  const plain = noColours()
  const last = times.length - 1
  const at = cursor ?? last
  const point = (index: number, from: number | undefined) => {
    const to = Math.min(last, Math.max(0, index))
    setAnchor(from)
    plot.current?.point(to)
    plot.current?.select(from === undefined ? undefined : [times[from]!, times[to]!])
    setCursor(to)
  }
  const keys = (e: KeyboardEvent) => {
    const step = e.ctrlKey || e.metaKey ? 10 : 1
    const start = e.shiftKey ? (anchor ?? at) : undefined
    if (e.key === 'ArrowLeft') point(at - step, start)
    else if (e.key === 'ArrowRight') point(at + step, start)
    else if (e.key === 'Home') point(0, start)
    else if (e.key === 'End') point(last, start)
    else if (e.key === 'Enter' && anchor !== undefined && anchor !== at) {
      plot.current?.select(undefined)
      setAnchor(undefined)
      onZoom?.(times[Math.min(anchor, at)]!, times[Math.max(anchor, at)]!)
    } else if (e.key === 'Escape' && (anchor !== undefined || cursor !== undefined)) {
      setAnchor(undefined)
      plot.current?.select(undefined)
      plot.current?.point(undefined)
      setCursor(undefined)
    } else return
    e.preventDefault()
    e.stopPropagation()
  }
  const said = `${momentOf(times[at]!)}: ${lines.slice(0, 5).map((l) => `${l.name} ${valueOf(l.values[at], unit)}`).join('; ')}${lines.length > 5 ? `; and ${lines.length - 5} more` : ''}`
  if (error !== undefined) return <ErrorPanel title="The graph could not be loaded" error={error} retry={() => location.reload()} />
  return (
    <>
      {table ? (
        <Values title={title} unit={unit} series={series} />
      ) : (
        <div
          ref={host}
          className={styles.plot}
          style={{ minHeight: height }}
          role="slider"
          tabIndex={0}
          aria-label={`${title}, graph of ${lines.length} ${lines.length === 1 ? 'line' : 'lines'}`}
          aria-describedby={help}
          aria-orientation="horizontal"
          aria-valuemin={0}
          aria-valuemax={last}
          aria-valuenow={at}
          aria-valuetext={said}
          data-keys="off"
          onKeyDown={keys}
        />
      )}
      <p id={help} className="visually-hidden">
        Left and right move in time, with Shift they select, Enter zooms to what is selected. The table has the values of each line.
      </p>
      <p className={styles.when} aria-hidden>
        {cursor === undefined ? `Last values` : momentOf(times[at]!)}
      </p>
      <ul className={styles.legend} aria-label={`Lines of ${title}`}>
        {lines.map((l, n) => {
          const look = looksOf(n, plain)
          return (
            <li key={ids[n]}>
              <button type="button" aria-pressed={!hidden.has(ids[n]!)} onClick={() => setHidden(toggled(hidden, ids[n]!))} title={l.name} className={styles.line}>
                <svg className={styles.swatch} width="18" height="4" aria-hidden>
                  <line x1="0" y1="2" x2="18" y2="2" strokeWidth="3" strokeDasharray={look.dash.join(' ') || undefined} style={{ stroke: `var(${look.token})` }} />
                </svg>
                <span className={styles.name}>{l.name || 'value'}</span>
                <span className={styles.value}>{valueOf(cursor === undefined ? summaries[n]!.last : l.values[at], unit)}</span>
              </button>
            </li>
          )
        })}
      </ul>
      <div className={table ? styles.scroll : 'visually-hidden'}>
        <table className={styles.sums}>
          <caption className="visually-hidden">{`${title}, from ${momentOf(times[0]!)} to ${momentOf(times[last]!)}`}</caption>
          <thead>
            <tr>
              {['Line', 'Last', 'Lowest', 'Mean', 'Highest'].map((h) => (
                <th key={h} scope="col">
                  {h}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {lines.map((l, n) => (
              <tr key={ids[n]}>
                <th scope="row">{l.name || 'value'}</th>
                {[summaries[n]!.last, summaries[n]!.low, summaries[n]!.mean, summaries[n]!.high].map((v, i) => (
                  // oxlint-disable-next-line react/no-array-index-key -- columns have no other name
                  <td key={i}>{valueOf(v, unit)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
        {markers.length > 0 && (
          <table className={styles.sums}>
            <caption className="visually-hidden">{`Marked in ${title}`}</caption>
            <thead>
              <tr>
                <th scope="col">Time</th>
                <th scope="col">Marked</th>
              </tr>
            </thead>
            <tbody>
              {markers.map((m) => (
                <tr key={`${m.at} ${m.name}`}>
                  <th scope="row">{momentOf(m.at)}</th>
                  <td>{m.text}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </div>
    </>
  )
}

function toggled(all: ReadonlySet<string>, name: string): Set<string> {
  const next = new Set(all)
  if (!next.delete(name)) next.add(name)
  return next
}

const columnsOfTable = 12

// Values are those of the graph by their times, the newest first.
function Values({ title, unit, series }: { title: string; unit: Unit; series: Series }) {
  const { times, lines } = series
  const some = lines.slice(0, columnsOfTable)
  const stride = Math.max(1, Math.ceil(times.length / rowsOfTable))
  const rows: number[] = []
  for (let i = times.length - 1; i >= 0; i -= stride) rows.push(i)
  return (
    <div className={styles.values}>
      <Table label={`${title} by time`} head={['Time', ...some.map((l) => l.name || 'value')]}>
        {rows.map((i) => (
          <tr key={times[i]}>
            <td className={styles.moment}>{momentOf(times[i]!)}</td>
            {some.map((l, n) => (
              // oxlint-disable-next-line react/no-array-index-key -- two lines may have one name
              <td key={n}>{valueOf(l.values[i], unit)}</td>
            ))}
          </tr>
        ))}
      </Table>
      {(stride > 1 || lines.length > columnsOfTable) && (
        <p className={styles.more}>
          {stride > 1 && `One of ${stride} times; there are ${times.length.toLocaleString('en-GB')}. `}
          {lines.length > columnsOfTable && `The first ${columnsOfTable} of ${lines.length} lines; below, all of them.`}
        </p>
      )}
    </div>
  )
}
