import { useEffect, useRef, useState } from 'react'
import { ErrorPanel } from '../State'
import styles from './TerminalView.module.css'
import type { TerminalHandle, TerminalInput } from './terminal'

interface Props extends TerminalInput {
  // Called once, when the terminal can show something.
  onReady: (terminal: TerminalHandle) => void
}

// TerminalView is a terminal of any program. Esc and Tab belong to the program;
// Shift+Escape gives the focus back to the page.
export function TerminalView({ label, onData, onResize, onLeave, onReady }: Props) {
  const host = useRef<HTMLDivElement>(null)
  const latest = useRef({ onData, onResize, onLeave, onReady })
  const [error, setError] = useState<unknown>()
  useEffect(() => {
    latest.current = { onData, onResize, onLeave, onReady }
  })
  useEffect(() => {
    let gone = false
    let handle: TerminalHandle | undefined
    import('./terminal').then(
      ({ mountTerminal }) => {
        if (gone || !host.current) return
        handle = mountTerminal(host.current, { label, onData: (text) => latest.current.onData(text), onResize: (c, r) => latest.current.onResize(c, r), onLeave: () => latest.current.onLeave() })
        handle.fit()
        latest.current.onReady(handle)
      },
      (e: unknown) => !gone && setError(e),
    )
    return () => {
      gone = true
      handle?.destroy()
    }
  }, [label])
  return (
    <>
      {error !== undefined && <ErrorPanel title="The terminal could not be loaded" error={error} retry={() => location.reload()} />}
      <div ref={host} className={styles.host} data-keys="off" />
    </>
  )
}
