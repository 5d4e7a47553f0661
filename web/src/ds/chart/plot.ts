import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { isolated, keysOf, looksOf, type Marker, noColours, type Series } from './series'
import { ticksOf } from './times'
import { stepsOf, type Unit, valueOf } from './units'

// The part that loads with the first graph.

export interface PlotInput {
  series: Series
  unit: Unit
  // Graphs of one group share the crosshair.
  group?: string | undefined
  height: number
  // The lines that are not drawn, by keysOf.
  hidden: ReadonlySet<string>
  markers: Marker[]
  // The index of the time below the crosshair; undefined when there is none.
  onCursor: (index: number | undefined) => void
  onZoom: (from: number, to: number) => void
}

export interface PlotHandle {
  // Draws other data of the same lines, or other lines.
  draw: (series: Series, unit: Unit) => void
  hide: (names: ReadonlySet<string>) => void
  mark: (markers: Marker[]) => void
  // Moves the crosshair, by keyboard.
  point: (index: number | undefined) => void
  // The range that Enter zooms to; undefined for none.
  select: (range: [number, number] | undefined) => void
  destroy: () => void
}

// The colours of the theme, which each line of each graph asks for whenever it is drawn.
const tokens = new Map<string, string>()
function token(name: string): string {
  const known = tokens.get(name) ?? getComputedStyle(document.documentElement).getPropertyValue(name).trim()
  tokens.set(name, known)
  return known
}

// Only the crosshair is shared: who zooms one graph zooms the page, by its address.
const shared = (type: string) => type === 'mousemove' || type === 'mouseleave'

// drawMarkers draws a vertical line for each, with its name at the top unless the one before is too near.
function drawMarkers(u: uPlot, markers: Marker[]): void {
  const { ctx, bbox } = u
  const ratio = devicePixelRatio
  const colour = token('--muted')
  ctx.save()
  ctx.strokeStyle = ctx.fillStyle = colour
  ctx.lineWidth = ratio
  ctx.setLineDash([4 * ratio, 3 * ratio])
  ctx.font = `${11 * ratio}px "Inter Variable", system-ui, sans-serif`
  ctx.textBaseline = 'top'
  let free = -Infinity
  for (const { at, name } of markers) {
    const x = Math.round(u.valToPos(at, 'x', true))
    if (x < bbox.left || x > bbox.left + bbox.width) continue
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
    const size = ctx.measureText(name).width + 6 * ratio
    const left = x + size > bbox.left + bbox.width ? x - size : x
    if (left < free) continue
    ctx.fillText(name, left + 3 * ratio, bbox.top)
    free = left + size
  }
  ctx.restore()
}

function optionsOf(input: PlotInput, width: number, markers: () => Marker[]): uPlot.Options {
  const keys = keysOf(input.series.lines)
  const { series, unit, group, height } = input
  const axis = { stroke: () => token('--muted'), font: '11px "Inter Variable", system-ui, sans-serif', ticks: { stroke: () => token('--hairline'), width: 1, size: 4 }, grid: { stroke: () => token('--hairline'), width: 1 } }
  return {
    width,
    height,
    legend: { show: false },
    // Half of the last time's text is right of its line.
    padding: [8, 20, 0, 0],
    scales: {
      x: { time: true },
      // From zero, unless something is below it: half of a bar must look like half.
      y: { range: (_u, low, high) => (low === null || high === null ? [0, 1] : uPlot.rangeNum(Math.min(0, low), high === 0 && low === 0 ? 1 : Math.max(0, high), 0.1, true)) },
    },
    axes: [
      { ...axis, size: 28, space: 64, values: (_u, splits, _i, _s, increment) => ticksOf(splits, increment) },
      { ...axis, size: 72, space: 32, incrs: stepsOf(unit), values: (_u, splits) => splits.map((v) => valueOf(v, unit)) },
    ],
    cursor: {
      y: false,
      points: { size: 6 },
      drag: { x: true, y: false, setScale: false, dist: 6 },
      ...(group ? { sync: { key: group, scales: ['x', null], filters: { pub: shared, sub: shared } } } : {}),
    },
    series: [
      {},
      ...series.lines.map((line, n) => {
        const { dash } = looksOf(n, noColours())
        return {
          label: line.name,
          show: !input.hidden.has(keys[n]!),
          stroke: () => token(looksOf(n, false).token),
          width: 1.5,
          dash,
          spanGaps: false,
          points: { show: false, size: 4, filter: (u: uPlot, i: number) => isolated(u.data[i]!) },
        }
      }),
    ],
    hooks: {
      draw: [(u) => drawMarkers(u, markers())],
      setCursor: [(u) => input.onCursor(u.cursor.idx ?? undefined)],
      setSelect: [
        (u) => {
          if (u.select.width < 1) return
          const from = u.posToVal(u.select.left, 'x')
          const to = u.posToVal(u.select.left + u.select.width, 'x')
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
          input.onZoom(from, to)
        },
      ],
    },
  }
}

const dataOf = (series: Series): uPlot.AlignedData => [series.times, ...series.lines.map((l) => l.values)]
const linesOf = (series: Series) => series.lines.map((l) => l.name).join('\n')

export function mountPlot(host: HTMLElement, first: PlotInput): PlotHandle {
  let input = first
  const width = () => Math.max(160, host.clientWidth)
  const made = () => new uPlot(optionsOf(input, width(), () => input.markers), dataOf(input.series), host)
  let plot = made()
  const again = () => {
    plot.destroy()
    plot = made()
  }
  const recolour = () => {
    tokens.clear()
    again()
  }
  // The tokens of the other theme are read while it draws; dashes are set once.
  const themes = new MutationObserver(() => {
    tokens.clear()
    plot.redraw(false, false)
  })
  themes.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
  const scheme = matchMedia('(prefers-color-scheme: light)')
  const contrast = matchMedia('(forced-colors: active)')
  scheme.addEventListener('change', recolour)
  contrast.addEventListener('change', recolour)
  const sizes = new ResizeObserver(() => {
    if (host.clientWidth > 0 && width() !== plot.width) plot.setSize({ width: width(), height: input.height })
  })
  sizes.observe(host)
  return {
    draw: (series, unit) => {
      const same = unit === input.unit && linesOf(series) === linesOf(input.series)
      input = { ...input, series, unit }
      if (same) plot.setData(dataOf(series))
      else again()
    },
    hide: (names) => {
      input = { ...input, hidden: names }
      const keys = keysOf(input.series.lines)
      plot.batch(() => keys.forEach((key, n) => plot.setSeries(n + 1, { show: !names.has(key) })))
    },
    mark: (markers) => {
      input = { ...input, markers }
      plot.redraw(false, false)
    },
    point: (index) => {
      if (index === undefined) plot.setCursor({ left: -10, top: -10 })
      else plot.setCursor({ left: plot.valToPos(input.series.times[index]!, 'x'), top: plot.over.clientHeight / 2 })
    },
    select: (range) => {
      const [from, to] = range ? [plot.valToPos(range[0], 'x'), plot.valToPos(range[1], 'x')] : [0, 0]
      plot.setSelect({ left: Math.min(from, to), top: 0, width: Math.abs(to - from), height: range ? plot.over.clientHeight : 0 }, false)
    },
    destroy: () => {
      themes.disconnect()
      sizes.disconnect()
      scheme.removeEventListener('change', recolour)
      contrast.removeEventListener('change', recolour)
      plot.destroy()
    },
  }
}
