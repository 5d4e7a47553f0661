import { Bell as BellIcon } from 'lucide-react'
import { Suspense, lazy, useRef, useState } from 'react'
import styles from './Notifications.module.css'
import { countText, useUnread } from './inbox'
import { IconButton } from '#/ds/Button'

const BellPanel = lazy(() => import('./BellPanel').then((m) => ({ default: m.BellPanel })))

// Bell is the top bar's button with the number of unread notifications. It can
// be mounted anywhere below the router.
export function Bell() {
  const [open, setOpen] = useState(false)
  const at = useRef<HTMLButtonElement>(null)
  const { data } = useUnread()
  const unread = data?.notifications.length ?? 0
  return (
    <span className={styles.bell}>
      <IconButton ref={at} icon={BellIcon} label={unread ? `Notifications, ${countText(unread)} unread` : 'Notifications'} aria-expanded={open} aria-haspopup="dialog" onClick={() => setOpen(!open)} />
      {unread > 0 && (
        <span className={styles.count} aria-hidden>
          {countText(unread)}
        </span>
      )}
      <Suspense fallback={null}>{open && <BellPanel at={at} onClose={() => setOpen(false)} />}</Suspense>
    </span>
  )
}
