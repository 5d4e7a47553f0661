import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback, useEffect, useMemo, useState } from 'react'
import { type Search, textOf } from '#/app/search'
import { fixed, fixedOf, goodRange, rangeOf } from '#/ds/chart/range'

// The range that was chosen last in this tab of the browser: other pages begin with it.
const kept = 'axle.range'

const everySeconds = 60

export interface RangeState {
  // As it stands in the address.
  text: string
  // Microseconds since 1970, for calls.
  startMicros: bigint
  endMicros: bigint
  // Seconds since 1970, when it was last read.
  now: number
  choose: (text: string) => void
  zoom: (from: number, to: number) => void
  // Reads again, until now.
  refresh: () => void
}

// useRange is the time that the graphs of a page show. It stands in the address, so that a link
// shows the same. A range that ends now moves every minute while somebody looks.
export function useRange(usual: string): RangeState {
  const inAddress = goodRange(textOf((useSearch({ strict: false }) as Search)['range']))
  const navigate = useNavigate()
  const [now, setNow] = useState(() => Math.floor(Date.now() / 1000))
  const text = inAddress ?? goodRange(sessionStorage.getItem(kept)) ?? goodRange(usual) ?? '1h'
  const put = useCallback((range: string, replace: boolean) => void navigate({ to: '.', search: (before: Search) => ({ ...before, range }), replace, resetScroll: false } as never), [navigate])
  useEffect(() => {
    // What another page chose is in the address of this one too, for who copies it.
    if (inAddress === undefined && text !== usual) put(text, true)
  }, [inAddress, text, usual, put])
  const choose = useCallback(
    (range: string) => {
      sessionStorage.setItem(kept, range)
      setNow(Math.floor(Date.now() / 1000))
      put(range, false)
    },
    [put],
  )
  const zoom = useCallback((from: number, to: number) => choose(fixed(from, to)), [choose])
  const refresh = useCallback(() => setNow(Math.floor(Date.now() / 1000)), [])
  useEffect(() => {
    if (fixedOf(text)) return undefined
    const timer = setInterval(() => document.visibilityState === 'visible' && refresh(), everySeconds * 1000)
    return () => clearInterval(timer)
  }, [text, refresh])
  return useMemo(() => {
    const { from, to } = rangeOf(text, now)
    return { text, now, startMicros: BigInt(from) * 1_000_000n, endMicros: BigInt(to) * 1_000_000n, choose, zoom, refresh }
  }, [text, now, choose, zoom, refresh])
}
