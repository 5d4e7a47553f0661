import { X } from 'lucide-react'
import type { ReactNode } from 'react'
import { IconButton } from '#/ds/Button'
import styles from './Peek.module.css'

interface Props {
  title: ReactNode
  label: string
  onClose: () => void
  children: ReactNode
}

// Peek shows one row beside the list, which stays.
export function Peek({ title, label, onClose, children }: Props) {
  return (
    <aside className={styles.peek} aria-label={label}>
      <header className={styles.head}>
        <h2>{title}</h2>
        <IconButton icon={X} label="Close (Esc)" onClick={onClose} />
      </header>
      <div className={styles.body}>{children}</div>
    </aside>
  )
}

// Beside puts a list and its peek side by side.
export function Beside({ children, peek }: { children: ReactNode; peek: ReactNode }) {
  return (
    <div className={styles.beside} data-open={peek ? true : undefined}>
      {children}
      {peek}
    </div>
  )
}
