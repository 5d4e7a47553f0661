import { Link } from '@tanstack/react-router'
import { X } from 'lucide-react'
import { IconButton } from './Button'
import styles from './Toasts.module.css'
import { dismiss, useToasts } from './toast'

export function Toasts() {
  const toasts = useToasts()
  return (
    <div className={styles.stack} role="status" aria-label="Notices">
      {toasts.map((t) => (
        <div key={t.id} className={styles.toast}>
          <span className={styles.text}>{t.text}</span>
          {t.href && <Link to={t.href}>{t.link}</Link>}
          <IconButton icon={X} label="Dismiss" onClick={() => dismiss(t.id)} />
        </div>
      ))}
    </div>
  )
}
