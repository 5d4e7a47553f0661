import type { Liveness } from './follow'
import styles from './Kube.module.css'

const words: Record<Liveness | 'partly', [string, string]> = {
  live: ['Live', 'changes are shown as they happen'],
  polling: ['Every 10 s', 'read again every 10 seconds: the connections that a browser opens to one server are used by other tabs and lists'],
  partly: ['Partly live', 'some kinds are live, others are read again every 10 seconds: the connections that a browser opens to one server are few'],
  lost: ['Reconnecting', 'the stream broke; the last values are shown'],
}

export function LiveState({ live }: { live: Liveness | 'partly' | undefined }) {
  if (!live) return null
  const [word, meaning] = words[live]
  return (
    <span className={styles.live} data-word={live} title={meaning}>
      <i aria-hidden />
      {word}
    </span>
  )
}
