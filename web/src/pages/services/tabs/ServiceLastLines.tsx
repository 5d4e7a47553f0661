import { Code } from '@connectrpc/connect'
import { useQueries } from '@tanstack/react-query'
import { isCode } from '#/api/errors'
import type { Component } from '#/api/gen/hub/v1/hub_pb'
import { getObject } from '#/pages/k8s/kube/calls'
import { LastLines } from '#/pages/k8s/logs/LastLines'
import { again, maxShown } from '#/pages/k8s/logs/failing'

const gvr = { group: '', version: 'v1', resource: 'pods' }

// ServiceLastLines are those of the pods that fail of a service.
export function ServiceLastLines({ cluster, pods }: { cluster: string; pods: Component[] }) {
  const asked = pods.slice(0, maxShown)
  const answers = useQueries({
    queries: asked.map((pod) => ({
      queryKey: ['k8s', cluster, 'failing', pod.namespace, pod.name, pod.message],
      queryFn: ({ signal }: { signal: AbortSignal }) => getObject({ cluster, gvr, namespace: pod.namespace }, pod.name, signal),
      refetchInterval: 10_000,
      retry: again,
    })),
  })
  const read = answers.flatMap(({ data }, i) => (data ? [{ object: data, degraded: asked[i]!.health === 'Degraded' }] : []))
  const denied = answers.find(({ error }) => error && !isCode(error, Code.NotFound))?.error ?? undefined
  return <LastLines cluster={cluster} pods={read} denied={denied} left={pods.length - asked.length} />
}
