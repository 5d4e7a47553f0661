import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { CheckCheck } from 'lucide-react'
import { useState } from 'react'
import { Item } from './Item'
import styles from './Notifications.module.css'
import { useMarkRead } from './inbox'
import { keyOf, useCall } from '#/api/call'
import { Notifications } from '#/api/gen/hub/v1/notifications_pb'
import { session } from '#/api/session'
import { type Search, textOf } from '#/app/search'
import { useKeys } from '#/app/useKeys'
import { Button } from '#/ds/Button'
import { Command } from '#/ds/Copy'
import { Segmented } from '#/ds/Form'
import { PageHeader } from '#/ds/PageHeader'
import { Panel } from '#/ds/Panel'
import { SkeletonLines } from '#/ds/Skeleton'
import { Empty, ErrorPanel } from '#/ds/State'
import { many } from '#/ds/Text'
import { useHint } from '#/live/useLive'

export function Page() {
  const unread = textOf((useSearch({ strict: false }) as Search)['show']) === 'unread'
  const navigate = useNavigate()
  const { data, error, refetch } = useCall(Notifications.method.list, { unread, limit: 500 }, { keep: true })
  useHint(['notifications'], keyOf(Notifications.method.list))
  const mark = useMarkRead()
  const [failed, setFailed] = useState<unknown>()
  const all = data?.notifications
  const left = all?.filter((n) => !n.read).length ?? 0
  const markAll = () => {
    setFailed(undefined)
    mark(all ?? []).catch(setFailed)
  }
  useKeys('Notifications', [{ keys: 'Shift+r', does: 'mark all as read', run: markAll }], left > 0)
  return (
    <>
      <PageHeader
        title="Notifications"
        actions={
          left > 0 && (
            <Button icon={CheckCheck} onClick={markAll}>
              Mark all as read
            </Button>
          )
        }
      >
        <p>
          Notifications that routers send to you, as far as you may read their objects now. Sinks and routers are in <Link to="/settings/notifications">Settings</Link>.
        </p>
      </PageHeader>
      <div>
        <Segmented
          label="Which"
          value={unread ? 'unread' : 'all'}
          options={[
            { value: 'all', label: 'All' },
            { value: 'unread', label: 'Unread' },
          ]}
          onChange={(v) => void navigate({ to: '/notifications', search: (v === 'unread' ? { show: v } : {}) as never, replace: true })}
        />
      </div>
      {failed !== undefined && <ErrorPanel title="Not marked as read" error={failed} />}
      {error && <ErrorPanel title="Can't read the notifications" error={error} retry={() => void refetch()} />}
      <Panel title={all ? many(all.length, unread ? 'unread notification' : 'notification') : 'Notifications'} flush>
        {!all && !error && <SkeletonLines lines={4} />}
        {all?.length === 0 && (
          <Empty title={unread ? 'Nothing unread' : 'No notifications yet'}>
            {!unread && (
              <>
                <p>They come from a sink of the type Axle that names you or a group of yours, and a router that sends events to it.</p>
                <Command command={`axle notifications sinks create console --type plural --user ${session().name}\naxle notifications routers create failures --event service.failed --sink console`} />
              </>
            )}
          </Empty>
        )}
        <ul className={styles.list}>
          {all?.map((n) => (
            <Item key={n.id} notification={n} />
          ))}
        </ul>
      </Panel>
    </>
  )
}
