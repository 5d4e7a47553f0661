import { ErrorPanel } from '#/ds/State'
import { Logo } from './Sidebar'
import styles from './NoHub.module.css'

// NoHub is shown when not even the session could be read.
export function NoHub({ error, retry }: { error: unknown; retry: () => void }) {
  return (
    <main className={styles.page}>
      <h1 className={styles.mark}>
        <Logo /> Axle
      </h1>
      <ErrorPanel title="Can't reach the hub" error={error} retry={retry} />
    </main>
  )
}
