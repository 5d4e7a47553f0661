import { progressOf } from './text'
import styles from './Activity.module.css'
import type { Operation } from '#/api/gen/hub/v1/operations_pb'

// Progress is a bar with the numbers beside it: what is done, failed and left.
export function Progress({ operation: o, wide }: { operation: Operation; wide?: boolean }) {
  const total = Number(o.total) || 1
  return (
    <span className={styles.progress} data-wide={wide || undefined}>
      <span className={styles.bar} role="progressbar" aria-label="Progress" aria-valuemin={0} aria-valuemax={Number(o.total)} aria-valuenow={Number(o.done + o.failed)} aria-valuetext={progressOf(o)}>
        <span className={styles.failed} style={{ width: `${(Number(o.failed) / total) * 100}%` }} />
        <span className={styles.done} style={{ width: `${(Number(o.done) / total) * 100}%` }} />
      </span>
      <span className={styles.numbers}>{progressOf(o)}</span>
    </span>
  )
}
