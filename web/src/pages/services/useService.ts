import { useQueryClient } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useEffect } from 'react'
import { keyOf, useCall } from '#/api/call'
import { Services } from '#/api/gen/hub/v1/hub_pb'
import { follow } from '#/live/client'
import { throttle } from '#/live/useLive'

// useService is the service of the address. It is read again when its row
// changes.
export function useService() {
  const { cluster = '', service: name = '' } = useParams({ strict: false }) as { cluster?: string; service?: string }
  const client = useQueryClient()
  const ref = { cluster, name }
  const call = useCall(Services.method.get, { ref })
  const id = call.data?.id
  useEffect(() => {
    if (!id) return undefined
    const again = throttle(() => {
      for (const method of [Services.method.get, Services.method.listRevisions, Services.method.getTree]) void client.invalidateQueries({ queryKey: keyOf(method, { ref: { cluster, name } }) })
    })
    const end = follow({ topics: { services: [id], clusters: [], hints: [] }, services: again, gone: again, relist: again })
    return () => {
      end()
      again.cancel()
    }
  }, [client, id, cluster, name])
  return { ref, ...call }
}
