import { useQueryClient } from '@tanstack/react-query'
import { keyOf, unary, useCall } from '#/api/call'
import { type Notification, Notifications } from '#/api/gen/hub/v1/notifications_pb'
import { useHint } from '#/live/useLive'

// The bell counts up to this; more is "99+".
export const bellLimit = 100

// useUnread is what the bell shows: the unread ones, read again when the hub
// says that there are more.
export function useUnread() {
  const call = useCall(Notifications.method.list, { unread: true, limit: bellLimit })
  useHint(['notifications'], keyOf(Notifications.method.list))
  return call
}

export function countText(n: number): string {
  return n >= bellLimit ? '99+' : String(n)
}

// newest is up to when everything is read once these were seen.
export function newest(all: Pick<Notification, 'at'>[]): bigint {
  return all.reduce((at, n) => (n.at > at ? n.at : at), 0n)
}

// useMarkRead marks what was seen as read; what came meanwhile stays unread.
export function useMarkRead(): (seen: Notification[]) => Promise<void> {
  const client = useQueryClient()
  return async (seen) => {
    if (seen.length === 0) return
    await unary(Notifications.method.markRead, { upTo: newest(seen) })
    await client.invalidateQueries({ queryKey: keyOf(Notifications.method.list) })
  }
}

// toneOf says how bad an event is.
export function toneOf(event: string): 'bad' | 'good' | 'idle' {
  return event.endsWith('.failed') ? 'bad' : /\.(recovered|applied|finished)$/.test(event) ? 'good' : 'idle'
}
