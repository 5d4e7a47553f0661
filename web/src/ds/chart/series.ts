// What a graph draws: lines over common times, with holes where there is no sample.

export interface Line {
  name: string
  // One for each of the times; null where there is no sample.
  values: (number | null)[]
}

// keysOf tell lines apart whose legends give them one name.
export function keysOf(lines: Line[]): string[] {
  const seen = new Map<string, number>()
  return lines.map(({ name }) => {
    const n = (seen.get(name) ?? 0) + 1
    seen.set(name, n)
    return n === 1 ? name : `${name} #${n}`
  })
}

export interface Series {
  // Seconds since 1970, ascending.
  times: number[]
  lines: Line[]
}

// Marker is a moment that a graph shows as a vertical line, such as a deployment.
export interface Marker {
  // Seconds since 1970.
  at: number
  // A few letters beside the line.
  name: string
  // A sentence for the table.
  text: string
}

const mostMarkers = 50

// markersIn are the newest of the markers within the times of a graph.
export function markersIn(markers: Marker[], times: number[]): Marker[] {
  const [first, last] = [times[0] ?? 0, times.at(-1) ?? 0]
  return markers.filter((m) => m.at >= first && m.at <= last).toSorted((a, b) => a.at - b.at).slice(-mostMarkers)
}

// More lines than this are not drawn: nobody can tell them apart.
export const mostLines = 50

export interface Summary {
  last: number | null
  // When the last value is from; 0 without one.
  at: number
  low: number | null
  mean: number | null
  high: number | null
}

// summaryOf goes through the values of a line once.
export function summaryOf(times: number[], values: (number | null)[]): Summary {
  let low = Infinity
  let high = -Infinity
  let sum = 0
  let n = 0
  let last = -1
  for (let i = 0; i < values.length; i++) {
    const v = values[i]
    if (v === null || v === undefined || Number.isNaN(v)) continue
    if (v < low) low = v
    if (v > high) high = v
    sum += v
    n++
    last = i
  }
  return n === 0 ? { last: null, at: 0, low: null, mean: null, high: null } : { last: values[last]!, at: times[last]!, low, mean: sum / n, high }
}

// isolated are the samples with a hole on both sides: a line without length, drawn as points.
export function isolated(values: ArrayLike<number | null | undefined>): number[] {
  const found: number[] = []
  for (let i = 0; i < values.length; i++) {
    if (values[i] != null && values[i - 1] == null && values[i + 1] == null) found.push(i)
  }
  return found
}

// sampled are at most n indices of a list, evenly, with the first and the last.
export function sampled(length: number, n: number): number[] {
  if (length <= n) return Array.from({ length }, (_, i) => i)
  return Array.from({ length: n }, (_, i) => Math.round((i * (length - 1)) / (n - 1)))
}

interface Points {
  name: string
  // Seconds since 1970, and the value of each.
  at: number[]
  values: number[]
}

// gridOf puts the samples of many lines onto common times, a step apart, so that what is
// missing is a hole. What is not finite is no sample.
export function gridOf(from: number, to: number, step: number, found: Points[]): Series {
  const length = Math.floor((to - from) / step) + 1
  const lines = found.map((line) => {
    const values = Array.from<number | null>({ length }).fill(null)
    for (let n = 0; n < line.at.length; n++) {
      const i = Math.round((line.at[n]! - from) / step)
      const value = line.values[n]!
      if (i >= 0 && i < length && Number.isFinite(value)) values[i] = value
    }
    return { name: line.name, values }
  })
  return { times: Array.from({ length }, (_, i) => from + i * step), lines }
}

const colours = 8
const dashes: number[][] = [[], [8, 4], [2, 3], [10, 3, 2, 3]]

// noColours reports whether the person has colours of their own.
export const noColours = () => matchMedia('(forced-colors: active)').matches

// looksOf gives the nth line one of eight colours; the next eight are dashed. Without colours,
// every line has its own dashes as far as they go.
export function looksOf(n: number, noColours: boolean): { token: string; dash: number[] } {
  return { token: `--line-${(n % colours) + 1}`, dash: dashes[noColours ? n % dashes.length : Math.floor(n / colours) % dashes.length]! }
}
