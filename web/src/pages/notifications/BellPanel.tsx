import { Link } from '@tanstack/react-router'
import { type RefObject, useState } from 'react'
import { Item } from './Item'
import styles from './Notifications.module.css'
import { useMarkRead, useUnread } from './inbox'
import { Button } from '#/ds/Button'
import { PopoverAt } from '#/ds/Popover'
import { SkeletonLines } from '#/ds/Skeleton'
import { ErrorPanel } from '#/ds/State'

// BellPanel is the newest unread notifications below the bell.
export function BellPanel({ at, onClose }: { at: RefObject<Element | null>; onClose: () => void }) {
  const { data, error, refetch } = useUnread()
  const mark = useMarkRead()
  const [failed, setFailed] = useState<unknown>()
  const all = data?.notifications
  return (
    <PopoverAt label="Notifications" at={at} onClose={onClose}>
      <div className={styles.panel}>
        {error && !all && <ErrorPanel title="Can't read the notifications" error={error} retry={() => void refetch()} />}
        {failed !== undefined && <ErrorPanel title="Not marked as read" error={failed} />}
        {!all && !error && <SkeletonLines lines={3} />}
        {all?.length === 0 && <p className={styles.none}>Nothing unread.</p>}
        <ul>
          {all?.slice(0, 8).map((n) => (
            <Item key={n.id} notification={n} />
          ))}
        </ul>
        <div className={styles.foot}>
          <Link to="/notifications" onClick={onClose}>
            {all && all.length > 8 ? `All, ${all.length - 8} more unread` : 'All notifications'}
          </Link>
          {all && all.length > 0 && <Button onClick={() => void mark(all).then(onClose, setFailed)}>Mark as read</Button>}
        </div>
      </div>
    </PopoverAt>
  )
}
