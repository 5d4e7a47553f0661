import type { Line } from './line'

// A failure is looked at with what came before it, and a little of what came after.
const before = 10 * 60_000
const after = 2 * 60_000

// timesAround are the URL parameters of a range of time around a moment.
export function timesAround(at: string): string {
  const t = Date.parse(at)
  return Number.isNaN(t) ? '' : `from=${new Date(t - before).toISOString()}&to=${new Date(t + after).toISOString()}`
}

// rangeOf is what from and to in the URL mean, in microseconds; nothing if they are no times.
export function rangeOf(from: string, to: string): { since: bigint; until: bigint } | undefined {
  const since = Date.parse(from)
  const until = Date.parse(to)
  return Number.isNaN(since) || Number.isNaN(until) ? undefined : { since: BigInt(since) * 1_000n, until: BigInt(until) * 1_000n + 999n }
}

// linesAround are the lines of a line's own source around it, itself in their middle.
export function linesAround(all: readonly Line[], of: Line, many = 50): Line[] {
  const own = all.filter((l) => l.source === of.source)
  const at = own.findIndex((l) => l.id === of.id)
  return at < 0 ? [] : own.slice(Math.max(0, at - many), at + many + 1)
}

// linkOf is a range that has the lines, for a link that shows them again.
export function linkOf(lines: readonly Line[]): { from: string; to: string } | undefined {
  const first = lines.find((l) => l.time)?.time
  const last = lines.findLast((l) => l.time)?.time
  if (!first || !last) return undefined
  return { from: new Date(first).toISOString(), to: new Date(Date.parse(last) + 1).toISOString() }
}

// utc is a moment as people read it.
export function utc(time: string): string {
  return new Date(time).toISOString().slice(5, 19).replace('T', ' ')
}
