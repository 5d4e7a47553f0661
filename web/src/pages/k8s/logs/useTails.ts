import { useEffect, useMemo, useRef, useState } from 'react'
import { LogBuffer } from './buffer'
import { type TailInput, type TailState, tail } from './tail'

export interface Source {
  pod: string
  container: string
}

export interface Range {
  tailLines: number
  sinceSeconds: number
}

const settle = 150

// useTails reads several containers into one buffer. version rises at most seven
// times a second, however many lines come.
export function useTails(where: { cluster: string; namespace: string }, sources: Source[], options: { previous: boolean; range: Range }) {
  const { cluster, namespace } = where
  const { previous, range } = options
  const key = JSON.stringify([cluster, namespace, sources, previous, range])
  // oxlint-disable-next-line react/exhaustive-deps -- another key is another view
  const buffer = useMemo(() => new LogBuffer(), [key])
  const [version, setVersion] = useState(0)
  const [states, setStates] = useState<TailState[]>([])
  const [round, setRound] = useState(0)
  const latest = useRef({ sources })
  useEffect(() => {
    latest.current = { sources }
  })
  useEffect(() => {
    const abort = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const current: TailState[] = latest.current.sources.map(() => ({ word: 'reading', heard: Date.now() }))
    const soon = () => {
      timer ??= setTimeout(() => {
        timer = undefined
        setVersion(buffer.version)
        setStates([...current])
      }, settle)
    }
    soon()
    latest.current.sources.forEach((source, i) => {
      const input: TailInput = { cluster, namespace, pod: source.pod, container: source.container, previous, follow: !previous, ...range }
      void tail(
        input,
        (lines) => {
          buffer.push(lines, i)
          soon()
        },
        (state) => {
          current[i] = state
          soon()
        },
        abort.signal,
      )
    })
    return () => {
      abort.abort()
      clearTimeout(timer)
    }
    // oxlint-disable-next-line react/exhaustive-deps -- key is all of it
  }, [key, buffer, round])
  return {
    buffer,
    version,
    states,
    retry: () => {
      buffer.clear()
      setRound((n) => n + 1)
    },
  }
}
