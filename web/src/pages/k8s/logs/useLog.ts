import type { MessageInitShape } from '@bufbuild/protobuf'
import { useEffect, useMemo, useState } from 'react'
import { takeSlot } from '../kube/slots'
import { LogBuffer } from './buffer'
import { levelOf } from './line'
import { Overlap } from './overlap'
import { lasting } from '#/api/errors'
import { ClusterAPI, type SearchLogsRequestSchema } from '#/api/gen/hub/v1/proxy_pb'
import { clientOf } from '#/api/transport'

export type LogRequest = MessageInitShape<typeof SearchLogsRequestSchema>

export interface Source {
  namespace: string
  pod: string
  container: string
}

export interface LogState {
  // polling: read again every 3 s, because the browser's connections are used.
  word: 'reading' | 'following' | 'polling' | 'ended' | 'failed'
  error?: unknown
  // When something last arrived, in milliseconds.
  heard: number
}

const settle = 150
const pollEvery = 3_000
// Containers are merged within a tenth of a second: what is read again begins a little earlier.
const again = 2_000
const mostNotices = 20

// What is told of a log beside its lines.
export interface LogTold {
  state: LogState
  // The containers that are read, and those that lines came from; lines have their index.
  sources: Source[]
  // The hub's sentences. Of those about a connection only the last one stands.
  notices: string[]
  // Lines that came faster than they could be sent.
  lost: number
}

const nothing: LogTold = { state: { word: 'reading', heard: 0 }, sources: [], notices: [], lost: 0 }

// read reads what the hub merges, the same as axle logs does, into a buffer. A log that is followed
// goes on after a broken stream without repeating or losing a line.
export async function read(request: LogRequest, buffer: LogBuffer, show: (told: LogTold) => void, signal: AbortSignal): Promise<void> {
  const sources: Source[] = []
  const indexes = new Map<string, number>()
  const overlaps: Overlap[] = []
  const notices = new Map<string, string>()
  let [newest, lost, attempt] = ['', 0, 0]
  const indexOf = ({ namespace, pod, container }: Source) => {
    const key = `${namespace} ${pod} ${container}`
    let at = indexes.get(key)
    if (at === undefined) {
      at = sources.push({ namespace, pod, container }) - 1
      indexes.set(key, at)
      overlaps.push(new Overlap())
    }
    return at
  }
  const tell = (word: LogState['word'], error?: unknown) => show({ state: { word, error, heard: Date.now() }, sources: [...sources], notices: [...notices.values()], lost })
  for (;;) {
    const slot = request.follow ? await takeSlot() : undefined
    const follow = slot !== undefined
    if (signal.aborted) {
      slot?.()
      return
    }
    for (const o of overlaps) o.resume()
    try {
      const back = newest ? BigInt(Date.parse(newest) - again) * 1_000n : 0n
      const from = newest ? { since: back > (request.since ?? 0n) ? back : request.since!, tailLines: 0n } : {}
      for await (const m of clientOf(ClusterAPI).searchLogs({ ...request, ...from, follow }, { signal })) {
        attempt = 0
        lost += Number(m.dropped)
        for (const s of m.sources) indexOf(s)
        for (const n of m.notices) {
          const key = ['interrupted', 'resumed'].includes(n.code) ? 'connection' : n.text
          notices.delete(key)
          notices.set(key, n.text)
          if (notices.size > mostNotices) notices.delete(notices.keys().next().value!)
        }
        const fresh = []
        for (const l of m.lines) {
          const source = indexOf(l)
          if (!overlaps[source]!.fresh(l.time)) continue
          if (l.time > newest) newest = l.time
          fresh.push({ time: l.time, text: l.cutBytes ? `${l.text} … ${l.cutBytes} more bytes` : l.text, level: levelOf(l.text), source, around: l.context })
        }
        buffer.add(fresh)
        tell(follow ? 'following' : 'reading')
      }
      // The log of pods ends when nothing can be written any more; a store's only because somebody cut it.
      if (!request.follow || (follow && !request.store)) {
        tell('ended')
        return
      }
      tell(follow ? 'reading' : 'polling')
      await pause(pollEvery, signal)
    } catch (error) {
      if (signal.aborted) return
      if (!request.follow || lasting(error)) {
        tell('failed', error)
        return
      }
      tell('reading', error)
      await pause(500 + Math.random() * Math.min(14_500, 500 * 2 ** attempt++), signal)
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

// useLog reads a log that the hub merges. version rises at most seven times a second, however
// many lines come. What is told belongs to the lines in the buffer: whoever draws between two
// versions has both as they are.
export function useLog(request: LogRequest | undefined) {
  const key = request ? JSON.stringify(request, (_, v: unknown) => (typeof v === 'bigint' ? String(v) : v)) : ''
  // oxlint-disable-next-line react/exhaustive-deps -- another key is another view
  const held = useMemo(() => ({ buffer: new LogBuffer(), told: nothing }), [key])
  const { buffer } = held
  const [shown, setShown] = useState({ version: 0 })
  const [round, setRound] = useState(0)
  useEffect(() => {
    if (!request) return undefined
    held.told = nothing
    setShown({ version: buffer.version })
    const abort = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const show = () => {
      timer = undefined
      setShown({ version: buffer.version })
    }
    void read(
      request,
      buffer,
      (told) => {
        held.told = told
        timer ??= setTimeout(show, settle)
      },
      abort.signal,
    )
    return () => {
      abort.abort()
      clearTimeout(timer)
    }
    // oxlint-disable-next-line react/exhaustive-deps -- key is all of it
  }, [key, held, round])
  return {
    buffer,
    version: shown.version,
    ...held.told,
    retry: () => {
      buffer.clear()
      setRound((n) => n + 1)
    },
  }
}

export type Log = ReturnType<typeof useLog>
