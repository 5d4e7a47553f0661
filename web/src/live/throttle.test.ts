import { expect, it, vi } from 'vitest'
import { throttle } from './useLive'

it('runs at once, and then at most once a second', () => {
  vi.useFakeTimers()
  const run = vi.fn()
  const call = throttle(run)
  for (let i = 0; i < 99; i++) {
    call()
    vi.advanceTimersByTime(50)
  }
  // Just under five seconds: at 0, 1, 2, 3 and 4.
  expect(run).toHaveBeenCalledTimes(5)
  call()
  call.cancel()
  vi.advanceTimersByTime(5_000)
  expect(run.mock.calls.length).toBeLessThanOrEqual(6)
  vi.useRealTimers()
})
