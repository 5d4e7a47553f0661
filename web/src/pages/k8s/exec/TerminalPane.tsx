import { RotateCw, TriangleAlert } from 'lucide-react'
import { useSyncExternalStore } from 'react'
import styles from './Exec.module.css'
import type { OpenTerminal } from './terminals'
import { Button } from '#/ds/Button'
import { Banner } from '#/ds/State'
import { TerminalView } from '#/ds/terminal/TerminalView'

// TerminalPane is one session in the dock.
export function TerminalPane({ it }: { it: OpenTerminal }) {
  const session = useSyncExternalStore(it.subscribe, () => it.session)
  const state = useSyncExternalStore(session.subscribe, session.snapshot)
  const { target } = session
  return (
    <div className={styles.pane}>
      {it.prod && (
        <p className={styles.prod}>
          <TriangleAlert size={14} aria-hidden /> Production: {it.prod}. Your input runs in {target.namespace}/{target.pod} on {target.cluster}.
        </p>
      )}
      {state.word === 'ended' && (
        <Banner tone={state.end.ok ? 'idle' : 'warn'} actions={<Button icon={RotateCw} onClick={it.restart}>New session</Button>}>
          {state.end.message}
        </Banner>
      )}
      {state.word === 'connecting' && (
        <p className={styles.note} role="status">
          Opening a shell in {target.container}…
        </p>
      )}
      <TerminalView
        label={`Terminal in ${target.container} of ${target.pod}. Shift+Escape leaves it.`}
        onData={(text) => it.session.send(text)}
        onResize={(columns, rows) => it.session.resize(columns, rows)}
        onLeave={() => document.querySelector<HTMLElement>('#main')?.focus()}
        onReady={(terminal) => {
          it.attach(terminal)
          terminal.focus()
        }}
      />
    </div>
  )
}
