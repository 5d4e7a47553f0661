import { useSyncExternalStore } from 'react'
import { ageOf, millis, timeOf, untilOf, utcOf } from './age'
import { now, subscribe } from './clock'

// useTicking returns what a function of the time says, and renders again only
// when that changes.
export function useTicking<T extends string | number | boolean>(of: (now: number) => T): T {
  return useSyncExternalStore(subscribe, () => of(now()))
}

interface Props {
  // Microseconds since 1970; 0 is never.
  at: bigint | number
  // What to say instead of an age for 0.
  never?: string
  // Put after the age, such as "ago".
  after?: string
}

// Age is how long ago something was. It ticks; hovering tells the time, also in
// UTC.
export function Age({ at, never = 'never', after }: Props) {
  const ms = millis(at)
  const text = useTicking((now) => (ms === 0 ? never : ageOf(ms, now)))
  if (ms === 0) return <span>{text}</span>
  return (
    <time dateTime={new Date(ms).toISOString()} title={`${timeOf(ms)}\n${utcOf(ms)}`}>
      {after && text !== 'now' ? `${text} ${after}` : text}
    </time>
  )
}

// Until is how long until something is; past says what to say when it was.
export function Until({ at, never = 'never', past }: { at: bigint | number; never?: string; past?: string }) {
  const ms = millis(at)
  const text = useTicking((now) => (ms === 0 ? never : past !== undefined && ms <= now ? past : untilOf(ms, now)))
  if (ms === 0) return <span>{text}</span>
  return (
    <time dateTime={new Date(ms).toISOString()} title={`${timeOf(ms)}\n${utcOf(ms)}`}>
      {text}
    </time>
  )
}

// Time is an absolute time.
export function Time({ at }: { at: bigint | number }) {
  const ms = millis(at)
  if (ms === 0) return <span>never</span>
  return (
    <time dateTime={new Date(ms).toISOString()} title={utcOf(ms)}>
      {timeOf(ms)}
    </time>
  )
}
