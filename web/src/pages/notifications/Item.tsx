import styles from './Notifications.module.css'
import { toneOf } from './inbox'
import type { Notification } from '#/api/gen/hub/v1/notifications_pb'
import { Badge, Muted } from '#/ds/Text'
import { Age } from '#/status/Age'

// Item is one notification; a dot and bold text say that it is unread.
export function Item({ notification: n }: { notification: Notification }) {
  return (
    <li className={styles.item} data-unread={!n.read || undefined}>
      <span className={styles.dot} aria-hidden />
      <div className={styles.body}>
        <p className={styles.title}>
          {!n.read && <span className="visually-hidden">Unread: </span>}
          {n.title}
        </p>
        {n.text && <p className={styles.text}>{n.text}</p>}
        <p className={styles.meta}>
          <Badge tone={toneOf(n.event)}>{n.event}</Badge> {n.priority === 'HIGH' && <Badge tone="warn">high priority</Badge>} <Age at={n.at} after="ago" /> <Muted>by {n.sink}</Muted>
        </p>
      </div>
    </li>
  )
}
