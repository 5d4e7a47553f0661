import { useEffect, useMemo, useState } from 'react'
import { LogBuffer } from './buffer'
import { levelOf } from './line'
import type { TailState } from './tail'
import type { Source } from './useTails'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { ClusterAPI, type SearchLogsRequestSchema } from '#/api/gen/hub/v1/proxy_pb'
import { clientOf } from '#/api/transport'

export type RangeRequest = MessageInitShape<typeof SearchLogsRequestSchema>

const settle = 150

// useRange reads a range of time that has an end, merged by the hub: the same link shows the
// same lines to everybody who may read them.
export function useRange(request: RangeRequest | undefined) {
  const key = request ? JSON.stringify(request, (_, v: unknown) => (typeof v === 'bigint' ? String(v) : v)) : ''
  // oxlint-disable-next-line react/exhaustive-deps -- another key is another view
  const buffer = useMemo(() => new LogBuffer(), [key])
  const [version, setVersion] = useState(0)
  const [state, setState] = useState<TailState>({ word: 'reading', heard: 0 })
  const [sources, setSources] = useState<Source[]>([])
  const [notices, setNotices] = useState<string[]>([])
  const [round, setRound] = useState(0)
  useEffect(() => {
    if (!request) return
    const abort = new AbortController()
    const seen: Source[] = []
    const said: string[] = []
    let timer: ReturnType<typeof setTimeout> | undefined
    const show = (word: TailState['word'], error?: unknown) => {
      clearTimeout(timer)
      timer = undefined
      setVersion(buffer.version)
      setSources([...seen])
      setNotices([...said])
      setState({ word, error, heard: Date.now() })
    }
    const indexOf = (pod: string, container: string) => {
      const at = seen.findIndex((s) => s.pod === pod && s.container === container)
      return at < 0 ? seen.push({ pod, container }) - 1 : at
    }
    void (async () => {
      try {
        for await (const m of clientOf(ClusterAPI).searchLogs(request, { signal: abort.signal })) {
          said.push(...m.notices.map((n) => n.text))
          buffer.add(
            m.lines.map((l) => ({
              time: l.time,
              text: l.cutBytes ? `${l.text} … ${l.cutBytes} more bytes` : l.text,
              level: levelOf(l.text),
              source: indexOf(l.pod, l.container),
            })),
          )
          timer ??= setTimeout(() => show('reading'), settle)
        }
        show('ended')
      } catch (error) {
        if (!abort.signal.aborted) show('failed', error)
      }
    })()
    return () => {
      abort.abort()
      clearTimeout(timer)
    }
    // oxlint-disable-next-line react/exhaustive-deps -- key is all of it
  }, [key, buffer, round])
  return {
    buffer,
    version,
    states: [state],
    sources,
    notices,
    retry: () => {
      buffer.clear()
      setRound((n) => n + 1)
    },
  }
}
