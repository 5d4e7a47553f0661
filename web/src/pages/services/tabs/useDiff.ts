import { useCall } from '#/api/call'
import { type Service, Services } from '#/api/gen/hub/v1/hub_pb'
import { useState } from 'react'

const again = 1_500

// useDiff is what applying the service would change. A fresh one is asked of the
// agent, which answers at its next poll.
export function useDiff(service: Service) {
  const ref = { cluster: service.cluster, name: service.name }
  const [asked, setAsked] = useState(0)
  const request = useCall(Services.method.diff, { ref, fresh: true }, { enabled: asked > 0, staleTime: Infinity })
  const wanted = request.data?.requested ?? 0n
  const last = useCall(Services.method.diff, { ref, fresh: false }, { refetchInterval: wanted > 0n ? again : false, keep: true })
  const waiting = asked > 0 && (request.isFetching || (wanted > 0n && (last.data?.answered ?? 0n) < wanted))
  return {
    diff: last.data,
    error: request.error ?? last.error,
    waiting,
    ask: () => {
      setAsked((n) => n + 1)
      if (asked > 0) void request.refetch()
    },
    retry: () => void last.refetch(),
  }
}
