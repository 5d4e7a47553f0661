import { Lock } from 'lucide-react'
import styles from './Text.module.css'
import type { Manager } from '#/api/gen/hub/v1/hub_pb'
import { declares, managerText } from '#/api/manage'

// ManagedBy says who manages an object. A tool's gets a lock: it writes the
// object again, and what is changed here is refused until it is taken over.
export function ManagedBy({ manager, prefix }: { manager: Manager | undefined; prefix?: boolean }) {
  const tool = declares(manager)
  const text = managerText(manager)
  return (
    <span className={styles.managed} title={tool ? `${text}. A change here is refused until you take it over.` : text}>
      {tool && <Lock size={12} aria-hidden />}
      <span className={styles.whole}>{prefix ? `Managed by ${text}` : text}</span>
    </span>
  )
}
