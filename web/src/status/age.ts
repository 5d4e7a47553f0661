// Ages and times as people read them. The API's times are microseconds since
// 1970 UTC; 0 is never.

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

// ageOf says how long ago: "now", "12 s", "4 m", "3 h", "2 d". A time in the
// future, by a clock that differs, is now.
export function ageOf(at: number, now: number): string {
  const age = now - at
  if (age < second) return 'now'
  if (age < minute) return `${Math.floor(age / second)} s`
  if (age < hour) return `${Math.floor(age / minute)} m`
  if (age < 2 * day) return `${Math.floor(age / hour)} h`
  return `${Math.floor(age / day)} d`
}

// untilOf says how long until: "in 40 s", "in 2 m", "due" when it has passed.
export function untilOf(at: number, now: number): string {
  return at <= now ? 'due' : `in ${ageOf(now, Math.max(at, now + second))}`
}

// spanOf is a duration: "850 ms", "12 s", "4 m 20 s", "3 h 5 m", "12 d".
export function spanOf(ms: number): string {
  if (ms < 0) return '0 s'
  if (ms < second) return `${Math.round(ms)} ms`
  if (ms < minute) return `${Math.floor(ms / second)} s`
  if (ms < hour) return two(Math.floor(ms / minute), 'm', Math.floor((ms % minute) / second), 's')
  if (ms < 2 * day) return two(Math.floor(ms / hour), 'h', Math.floor((ms % hour) / minute), 'm')
  return `${Math.floor(ms / day)} d`
}

function two(a: number, aUnit: string, b: number, bUnit: string): string {
  return b ? `${a} ${aUnit} ${b} ${bUnit}` : `${a} ${aUnit}`
}

export function millis(micros: bigint | number): number {
  return typeof micros === 'bigint' ? Number(micros / 1000n) : micros / 1000
}

const local = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })

// timeOf is in the browser's time zone, utcOf in UTC.
export function timeOf(ms: number): string {
  return local.format(ms)
}

export function utcOf(ms: number): string {
  return `${new Date(ms).toISOString().replace('T', ' ').slice(0, 19)} UTC`
}
