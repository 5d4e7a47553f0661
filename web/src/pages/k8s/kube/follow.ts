import { type Place, objectsOf } from './calls'
import { takeSlot } from './slots'
import { clientOf } from '#/api/transport'
import { isCode, lasting } from '#/api/errors'
import { ClusterAPI } from '#/api/gen/hub/v1/proxy_pb'
import { decode } from './object'
import { Code } from '@connectrpc/connect'

// live: changes come as they happen; polling: read again every 10 s, because the
// browser's connections are used; lost: the stream broke and is tried again.
export type Liveness = 'live' | 'polling' | 'lost'

export interface Following {
  place: Place
  labelSelector?: string
  fieldSelector?: string
  table: boolean
  // Reads everything again and returns from which version a watch continues.
  read: (signal: AbortSignal) => Promise<string>
  onEvent: (type: string, json: Uint8Array) => void
  onState: (state: Liveness) => void
}

const pollEvery = 10_000
const hiddenAfter = 60_000
const shortest = 2_000

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

// seen resolves when the tab is looked at again.
async function seen(signal: AbortSignal): Promise<void> {
  while (document.visibilityState === 'hidden' && !signal.aborted) {
    await new Promise<void>((resolve) => {
      const done = () => resolve()
      document.addEventListener('visibilitychange', done, { once: true })
      signal.addEventListener('abort', done, { once: true })
    })
  }
}

// follow keeps something up to date from a version on, until the signal aborts.
export async function follow(f: Following, version: string, signal: AbortSignal): Promise<void> {
  let from = version
  let attempt = 0
  while (!signal.aborted) {
    await seen(signal)
    if (signal.aborted) return
    try {
      if (from === '') from = await f.read(signal)
      const slot = await takeSlot()
      if (!slot) {
        f.onState('polling')
        await pause(pollEvery, signal)
        from = ''
        continue
      }
      const began = Date.now()
      try {
        from = await watch(f, from, signal)
      } finally {
        slot()
      }
      attempt = 0
      // A watch that ends at once, as behind a proxy that buffers, is no busy loop.
      if (Date.now() - began < shortest) await pause(shortest * (0.5 + Math.random()), signal)
    } catch (error) {
      if (signal.aborted) return
      // A watch that is refused for good is read again and again instead.
      const refused = lasting(error) && !isCode(error, Code.Aborted)
      f.onState(refused ? 'polling' : 'lost')
      from = ''
      await pause(refused ? pollEvery : 500 + Math.random() * Math.min(14_500, 500 * 2 ** attempt++), signal)
    }
  }
}

// watch returns from which version to go on; empty is: read everything again.
async function watch(f: Following, version: string, signal: AbortSignal): Promise<string> {
  const stop = new AbortController()
  const end = () => stop.abort()
  signal.addEventListener('abort', end, { once: true })
  let timer: ReturnType<typeof setTimeout> | undefined
  const onVisible = () => {
    clearTimeout(timer)
    if (document.visibilityState === 'hidden') timer = setTimeout(end, hiddenAfter)
  }
  document.addEventListener('visibilitychange', onVisible)
  let from = version
  try {
    const { labelSelector = '', fieldSelector = '' } = f
    const stream = clientOf(ClusterAPI).watchObjects({ objects: objectsOf(f.place, { labelSelector, fieldSelector }), resourceVersion: version, table: f.table }, { signal: stop.signal })
    f.onState('live')
    for await (const event of stream) {
      if (event.type === '') continue
      if (event.type === 'ERROR') return ''
      from = versionOf(event.json) || from
      if (event.type !== 'BOOKMARK') f.onEvent(event.type, event.json)
    }
    return from
  } catch (error) {
    if (stop.signal.aborted) return from
    throw error
  } finally {
    signal.removeEventListener('abort', end)
    document.removeEventListener('visibilitychange', onVisible)
    clearTimeout(timer)
  }
}

export function versionOf(json: Uint8Array): string {
  const o = decode<{ metadata?: { resourceVersion?: string }; rows?: { object?: { metadata?: { resourceVersion?: string } } }[] }>(json)
  return o.rows?.[0]?.object?.metadata?.resourceVersion ?? o.metadata?.resourceVersion ?? ''
}
