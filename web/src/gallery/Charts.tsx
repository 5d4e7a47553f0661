import { ConnectError, Code } from '@connectrpc/connect'
import { useState } from 'react'
import styles from './Gallery.module.css'
import { Chart } from '#/ds/chart/Chart'
import { gridOf, type Series } from '#/ds/chart/series'
import { TimeRange } from '#/ds/chart/TimeRange'
import { fixed } from '#/ds/chart/range'
import { Panel } from '#/ds/Panel'

const to = 1_790_000_000
const from = to - 3600

// timesOf are those of an hour, a step apart.
const timesOf = (step: number) => Array.from({ length: Math.floor(3600 / step) + 1 }, (_, i) => from + i * step)

function wave(lines: number, step: number, names = (n: number) => `web-${n}`, height = 2 ** 28): Series {
  const at = timesOf(step)
  return gridOf(
    from,
    to,
    step,
    Array.from({ length: lines }, (_, n) => ({ name: names(n), at, values: at.map((t) => height * (1 + n / 4 + Math.sin(n + (t - from) / 400) / 3)) })),
  )
}

const holes = gridOf(from, to, 30, [
  { name: 'a pod that was away', at: timesOf(30), values: timesOf(30).map((_, i) => (i > 40 && i < 70 && i !== 55 ? Number.NaN : 0.4 + 0.2 * Math.sin(i / 9))) },
  { name: '<script>alert(1)</script> <img src=x onerror=alert(1)>', at: timesOf(30), values: timesOf(30).map(() => 0.2) },
])
const three = wave(3, 30)
const many = wave(60, 60, (n) => `pod-with-a-long-name-${n}-7f9c6d5b48-x2x9z`)
const requests = wave(2, 15, (n) => ['200', '500'][n]!, 40)
const deployed = [
  { at: from + 1200, name: 'a1b2c3d', text: 'Applied revision 7, a1b2c3d4e5f6: fix: the second word' },
  { at: from + 1260, name: 'failed', text: 'failed: web: crash loop' },
  { at: to - 60, name: 'b2c3d4e', text: 'Applied revision 8, b2c3d4e5f607: fix: the first word again' },
]
const nothing: Series = { times: [from, to], lines: [] }

// Charts are graphs in all their states.
export function Charts() {
  const [range, setRange] = useState('1h')
  const zoom = (a: number, b: number) => setRange(fixed(a, b))
  return (
    <>
      <Panel title="Time ranges">
        <div className={styles.part}>
          <TimeRange value={range} onChange={setRange} onRefresh={() => {}} />
        </div>
      </Panel>
      <div className={styles.parts}>
        <Chart title="Memory" unit="bytes" series={three} group="gallery" onZoom={zoom} />
        <Chart title="Requests" unit="per second" series={requests} group="gallery" onZoom={zoom} />
        <Chart title="Holes, and names that are text" unit="percent" series={holes} group="gallery" onZoom={zoom} />
        <Chart title="Too many lines" unit="bytes" series={many} found={100_000} />
        <Chart title="Deployed twice" unit="per second" series={requests} markers={deployed} />
        <Chart title="Late" unit="cores" series={requests} behind={900} />
        <Chart title="Without some metrics" unit="none" series={requests} notes={['There is no kube_pod_container_status_restarts_total here.']} />
        <Chart title="Loading" unit="none" series={undefined} />
        <Chart title="Empty" unit="none" series={nothing} />
        <Chart title="Refused" unit="none" series={nothing} message="$pod has no value: no series that its query finds has the label pod" />
        <Chart title="One of two" unit="none" series={requests} message="query 2: 1:14: unexpected character: '$'" />
        <Chart title="Failed" unit="none" series={undefined} error={new ConnectError('you may not read cluster edge-1; ask for the right to read it', Code.PermissionDenied)} retry={() => {}} />
      </div>
    </>
  )
}
