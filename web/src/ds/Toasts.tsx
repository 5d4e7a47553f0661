import { Link } from '@tanstack/react-router'
import { X } from 'lucide-react'
import { Button, IconButton } from './Button'
import styles from './Toasts.module.css'
import { dismiss, hold, release, useToasts } from './toast'

export function Toasts() {
  const toasts = useToasts()
  return (
    <div className={styles.stack} role="status" aria-label="Notices">
      {toasts.map((t) => (
        <div key={t.id} className={styles.toast} onFocus={() => hold(t.id)} onBlur={() => release(t.id)}>
          <span className={styles.text}>{t.text}</span>
          {t.href && <Link to={t.href}>{t.link}</Link>}
          {t.run && (
            <Button
              onClick={() => {
                dismiss(t.id)
                t.run?.()
              }}
            >
              {t.link}
            </Button>
          )}
          <IconButton icon={X} label="Dismiss" onClick={() => dismiss(t.id)} />
        </div>
      ))}
    </div>
  )
}
