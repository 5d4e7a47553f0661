import { useQuery } from '@tanstack/react-query'
import { SquareTerminal, TriangleAlert } from 'lucide-react'
import { useState } from 'react'
import { KubeError } from '../kube/KubeError'
import { type Place, getObject } from '../kube/calls'
import { type KubeObject, isProd } from '../kube/object'
import { containersOf, usePods } from '../object/usePods'
import styles from './Exec.module.css'
import { runs, shellIn } from './shellIn'
import { openTerminal } from './terminals'
import { Button } from '#/ds/Button'
import { Command } from '#/ds/Copy'
import { Select } from '#/ds/Form'
import { Panel } from '#/ds/Panel'
import { SkeletonLines } from '#/ds/Skeleton'
import { Banner, Empty } from '#/ds/State'
import { Muted } from '#/ds/Text'
import { useCluster } from '#/pages/clusters/useCluster'

// useProd says why an object is production: by its namespace's labels or its
// cluster's tags.
export function useProd(place: Place): string | undefined {
  const { data: cluster } = useCluster()
  const { data: namespace } = useQuery({
    queryKey: ['k8s', place.cluster, 'namespace', place.namespace],
    enabled: Boolean(place.namespace),
    staleTime: 60_000,
    queryFn: ({ signal }) => getObject({ cluster: place.cluster, gvr: { group: '', version: 'v1', resource: 'namespaces' } }, place.namespace ?? '', signal),
  })
  const label = isProd(namespace?.metadata.labels)
  if (label) return `the namespace ${place.namespace} has ${label}`
  const tag = isProd(cluster?.tags)
  return tag ? `the cluster ${place.cluster} has ${tag}` : undefined
}

export function ExecTab({ place, object }: { place: Place; object: KubeObject }) {
  const { pods, error, loading, refetch } = usePods(place, object)
  if (error) return <KubeError title="Can't list its pods" error={error} retry={() => void refetch()} />
  if (loading) return <SkeletonLines lines={4} />
  if (pods.length === 0) return <Empty title="No pods, so no terminal">Nothing runs that a shell could be opened in.</Empty>
  return <Choose place={place} pods={pods} />
}

function Choose({ place, pods }: { place: Place; pods: KubeObject[] }) {
  const [name, setName] = useState('')
  const [chosen, setContainer] = useState('')
  const prod = useProd(place)
  const pod = pods.find((p) => p.metadata.name === name) ?? pods[0]!
  const containers = containersOf(pod)
  const container = containers.includes(chosen) ? chosen : shellIn(pod)
  const running = runs(pod, container)
  const { namespace = '' } = pod.metadata
  return (
    <Panel title="Terminal">
      <div className={styles.column}>
      <div className={styles.form}>
        {pods.length > 1 && (
          <div>
            <Select label="Pod" value={pod.metadata.name} onChange={setName} options={pods.map((p) => ({ value: p.metadata.name, label: p.metadata.name }))} />
          </div>
        )}
        <div>
          <Select label="Container" value={container} onChange={setContainer} options={containers.map((c) => ({ value: c, label: c }))} />
        </div>
        <Button icon={SquareTerminal} variant="primary" autoFocus disabled={!running} onClick={() => openTerminal({ cluster: place.cluster, namespace, pod: pod.metadata.name, container }, prod)}>
          Open a shell
        </Button>
      </div>
      {prod && (
        <Banner tone="bad" icon={TriangleAlert}>
          Production: {prod}.
        </Banner>
      )}
      {!running && <Banner tone="warn">{container} is not running, so no shell can be opened in it. The reason may be in its logs.</Banner>}
      <p>
        <Muted>The shell opens below and stays there while you go to other pages. Every session is in the audit log with your name. A session that is idle for 15 minutes is closed.</Muted>
      </p>
      <Command label="The same with kubectl" command={`kubectl --namespace ${namespace} exec -it ${pod.metadata.name} --container ${container} -- sh`} />
      </div>
    </Panel>
  )
}
