// The time range of graphs, as it stands in an address: `range=1h` ends now, `range=A..B` has
// both ends, in seconds since 1970 UTC, and shows the same to everybody.

export interface Range {
  from: number
  to: number
}

// Longer ranges are refused by the hub.
const longest = 400 * 86_400

const sizes: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 }

// sliceOf are the seconds of a text like 30m, 1h, 7d; undefined for anything else.
export function sliceOf(text: string): number | undefined {
  const parts = /^(\d{1,6})([smhdw])$/.exec(text)
  const seconds = parts ? Number(parts[1]) * sizes[parts[2]!]! : 0
  return seconds > 0 && seconds <= longest ? seconds : undefined
}

// fixedOf is a range with both ends.
export function fixedOf(text: string): Range | undefined {
  const parts = /^(\d{9,11})\.\.(\d{9,11})$/.exec(text)
  if (!parts) return undefined
  const [from, to] = [Number(parts[1]), Number(parts[2])]
  return from < to ? { from, to } : undefined
}

// goodRange is a range of an address as it is, or nothing.
export function goodRange(text: unknown): string | undefined {
  return typeof text === 'string' && (sliceOf(text) !== undefined || fixedOf(text) !== undefined) ? text : undefined
}

export function rangeOf(text: string, now: number): Range {
  const fixed = fixedOf(text)
  if (fixed) return fixed
  return { from: now - (sliceOf(text) ?? 3600), to: now }
}

export function fixed(from: number, to: number): string {
  const a = Math.floor(from)
  return `${a}..${Math.max(a + 1, Math.ceil(to))}`
}

// shifted is the range before or after, of the same length; none ends after now.
export function shifted(text: string, by: number, now: number): string {
  const { from, to } = rangeOf(text, now)
  const end = Math.min(now, to + by * (to - from))
  return fixed(end - (to - from), end)
}

// zoomed is a range around the same middle.
export function zoomed(text: string, factor: number, now: number): string {
  const { from, to } = rangeOf(text, now)
  const half = Math.min(longest - 1, (to - from) * factor) / 2
  const middle = (from + to) / 2
  return fixed(middle - half, Math.min(now, middle + half))
}

// wordsOf says a slice: "30 min", "1 hour", "7 days".
export function wordsOf(slice: string): string {
  const parts = /^(\d+)([smhdw])$/.exec(slice)
  if (!parts) return slice
  const n = Number(parts[1])
  const word = { s: 'second', m: 'minute', h: 'hour', d: 'day', w: 'week' }[parts[2]!]!
  return `${n} ${word}${n === 1 ? '' : 's'}`
}
