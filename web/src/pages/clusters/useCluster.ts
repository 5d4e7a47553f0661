import { useParams } from '@tanstack/react-router'
import { useCall } from '#/api/call'
import { Clusters } from '#/api/gen/hub/v1/hub_pb'
import { useHint } from '#/live/useLive'
import { keyOf } from '#/api/call'

// useCluster is the cluster of the address, by name.
export function useCluster() {
  const { cluster: name = '' } = useParams({ strict: false }) as { cluster?: string }
  useHint(['clusters'], keyOf(Clusters.method.get, { name }))
  return { name, ...useCall(Clusters.method.get, { name }, { enabled: name !== '' }) }
}

// useManagement is the management cluster of one from a template, if the person may read it.
export function useManagement(name = '') {
  useHint(['clusters'], keyOf(Clusters.method.get, { name }))
  return useCall(Clusters.method.get, { name }, { enabled: name !== '' }).data
}
