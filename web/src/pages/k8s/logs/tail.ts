import { takeSlot } from '../kube/slots'
import { lasting, problemOf } from '#/api/errors'
import { ClusterAPI } from '#/api/gen/hub/v1/proxy_pb'
import { clientOf } from '#/api/transport'
import { Overlap } from './overlap'

export interface TailInput {
  cluster: string
  namespace: string
  pod: string
  container: string
  previous: boolean
  follow: boolean
  tailLines: number
  sinceSeconds: number
}

export interface TailState {
  // polling: read again every 3 s, because the browser's connections are used.
  // waiting: the container has no log yet, or had no previous run.
  word: 'reading' | 'following' | 'polling' | 'waiting' | 'ended' | 'failed'
  error?: unknown
  // When something last arrived, in milliseconds.
  heard: number
}

const pollEvery = 3_000

// What an API server says for a container without a log. It is no mistake: the
// pod's status says why.
export const noLogYet = /is waiting to start|is not available|previous terminated container .* not found/

// tail reads one container's log, and goes on after a broken stream without
// repeating or losing a line: it asks from the last second on and drops what it
// has.
export async function tail(input: TailInput, onLines: (lines: string[]) => void, onState: (s: TailState) => void, signal: AbortSignal): Promise<void> {
  const { follow: wanted, sinceSeconds, tailLines, ...where } = input
  const overlap = new Overlap()
  let attempt = 0
  let quiet = 0
  const take = (lines: string[]) => {
    const fresh = overlap.take(lines)
    if (fresh.length) onLines(fresh)
  }
  while (!signal.aborted) {
    const slot = wanted ? await takeSlot() : undefined
    const follow = slot !== undefined
    const had = overlap.last
    overlap.resume()
    try {
      onState({ word: 'reading', heard: Date.now() })
      const since = had ? Math.max(1, Math.ceil((Date.now() - Date.parse(had)) / 1_000) + 1) : sinceSeconds
      const stream = clientOf(ClusterAPI).readLogs({ ...where, follow, tailLines: BigInt(had ? 0 : tailLines), sinceSeconds: BigInt(since) }, { signal })
      let rest = ''
      for await (const { lines } of stream) {
        onState({ word: follow ? 'following' : 'reading', heard: Date.now() })
        if (!lines) continue
        const parts = (rest + lines).split('\n')
        rest = parts.pop() ?? ''
        take(parts)
      }
      if (rest) take([rest])
      attempt = 0
      if (!wanted) {
        onState({ word: 'ended', heard: Date.now() })
        return
      }
      if (!follow) {
        onState({ word: 'polling', heard: Date.now() })
        await pause(pollEvery, signal)
        continue
      }
      // A followed log ends with its container, or because a proxy cut it. Twice
      // without a new line is the container's end.
      quiet = overlap.last === had ? quiet + 1 : 0
      if (quiet >= 2) {
        onState({ word: 'ended', heard: Date.now() })
        return
      }
      await pause(1_000, signal)
    } catch (error) {
      if (signal.aborted) return
      if (noLogYet.test(problemOf(error).message)) {
        onState({ word: 'waiting', heard: Date.now() })
        if (!wanted) return
        await pause(pollEvery, signal)
      } else if (lasting(error)) {
        onState({ word: 'failed', error, heard: Date.now() })
        return
      } else {
        onState({ word: 'reading', error, heard: Date.now() })
        await pause(500 + Math.random() * Math.min(14_500, 500 * 2 ** attempt++), signal)
      }
    } finally {
      slot?.()
    }
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer)
        resolve()
      },
      { once: true },
    )
  })
}
