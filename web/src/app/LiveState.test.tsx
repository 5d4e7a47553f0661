import { act, render, screen } from '@testing-library/react'
import { expect, test, vi } from 'vitest'
import { LiveState } from './LiveState'
import { setSession } from '#/api/session'
import { follow } from '#/live/client'
import type { ToTab } from '#/live/host'

test('it connects until the hub is heard, and pauses only after that', async () => {
  const port = new EventTarget() as EventTarget & { start: () => void; postMessage: () => void }
  port.start = () => {}
  port.postMessage = () => {}
  vi.stubGlobal('SharedWorker', class { port = port })
  const says = (data: ToTab) => act(() => port.dispatchEvent(new MessageEvent('message', { data })))
  setSession({ id: 'u-1', name: 'kim', groups: [], admin: false, provedAt: 0, csrf: 'x' })
  vi.useFakeTimers()
  render(<LiveState />)
  expect(screen.getByText('Connecting')).toBeDefined()
  follow({ topics: { services: [], clusters: [], hints: ['fleet'] } })
  vi.runAllTimers()
  // What a worker says to a tab that has not told it yet what it wants.
  says({ connection: { phase: 'idle', heardAt: 0 } })
  expect(screen.getByText('Connecting')).toBeDefined()
  says({ connection: { phase: 'live', heardAt: 1 } })
  expect(screen.getByText('Live')).toBeDefined()
  says({ connection: { phase: 'idle', heardAt: 1 } })
  expect(screen.getByText('Paused')).toBeDefined()
  vi.useRealTimers()
  vi.unstubAllGlobals()
})
