import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-web'
import type { Upstream } from './machine'
import { Fleet } from '#/api/gen/hub/v1/fleet_pb'

// hubUpstream is the hub over a transport of its own: the worker has no page
// and gets the CSRF token from a tab.
export function hubUpstream(origin: string, csrf: () => string): Upstream {
  const client = createClient(
    Fleet,
    createConnectTransport({
      baseUrl: origin,
      useBinaryFormat: true,
      interceptors: [
        (next) => (request) => {
          request.header.set('Axle-Csrf', csrf())
          return next(request)
        },
      ],
    }),
  )
  const named = (t: { services: string[]; clusters: string[]; hints: string[] }) => ({ serviceIds: t.services, clusterIds: t.clusters, hints: t.hints })
  return {
    watch: (topics, resumeToken, signal) => client.watch({ topics: named(topics), resumeToken }, { signal }),
    setTopics: async (streamId, topics, signal) => {
      await client.setTopics({ streamId, topics: named(topics) }, { signal })
    },
    kindOf(error) {
      switch (ConnectError.from(error).code) {
        case Code.OutOfRange:
          return 'too-old'
        case Code.NotFound:
          return 'no-stream'
        case Code.Unauthenticated:
          return 'signed-out'
        default:
          return 'other'
      }
    },
  }
}
