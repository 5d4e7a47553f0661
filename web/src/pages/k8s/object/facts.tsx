import { Link } from '@tanstack/react-router'
import { objectPath } from '../kube/gvr'
import type { KubeObject } from '../kube/object'
import type { Fact } from '#/ds/Text'
import { count } from '#/ds/Text'

const core = (resource: string) => ({ group: '', version: 'v1', resource })

function list(items: unknown): string {
  return Array.isArray(items) && items.length ? items.map(String).join(', ') : 'none'
}

interface Port {
  name?: string
  port: number
  targetPort?: number | string
  protocol?: string
}

// factsOf are the few facts of a kind that people ask for first. Other kinds have
// their conditions and their YAML.
export function factsOf(o: KubeObject, cluster: string): Fact[] {
  const spec = o['spec'] ?? {}
  const status = o['status'] ?? {}
  const { namespace = '' } = o.metadata
  switch (o.kind) {
    case 'Pod':
      return [
        { label: 'Node', value: spec.nodeName ? <Link to={`/clusters/${encodeURIComponent(cluster)}/nodes/${encodeURIComponent(spec.nodeName)}` as string}>{spec.nodeName}</Link> : 'not scheduled' },
        { label: 'Pod IP', value: status.podIP ?? 'none' },
        { label: 'Service account', value: spec.serviceAccountName ?? 'default' },
        { label: 'Quality of service', value: status.qosClass ?? 'unknown' },
        { label: 'Restart policy', value: spec.restartPolicy ?? 'Always' },
      ]
    case 'Deployment':
      return [
        { label: 'Replicas', value: `${count(status.readyReplicas ?? 0)} ready, ${count(status.updatedReplicas ?? 0)} updated, ${count(spec.replicas ?? 1)} wanted` },
        { label: 'Strategy', value: spec.strategy?.type ?? 'RollingUpdate' },
        ...(spec.paused ? [{ label: 'Rollout', value: 'paused' }] : []),
      ]
    case 'StatefulSet':
    case 'ReplicaSet':
      return [{ label: 'Replicas', value: `${count(status.readyReplicas ?? 0)} ready, ${count(spec.replicas ?? 1)} wanted` }]
    case 'DaemonSet':
      return [{ label: 'Nodes', value: `${count(status.numberReady ?? 0)} ready, ${count(status.desiredNumberScheduled ?? 0)} wanted` }]
    case 'Job':
      return [{ label: 'Runs', value: `${count(status.succeeded ?? 0)} succeeded, ${count(status.failed ?? 0)} failed, ${count(spec.completions ?? 1)} wanted` }]
    case 'CronJob':
      return [
        { label: 'Schedule', value: `${spec.schedule ?? ''}${spec.timeZone ? ` ${spec.timeZone}` : ''}` },
        { label: 'Suspended', value: spec.suspend ? 'yes' : 'no' },
        { label: 'Concurrency', value: spec.concurrencyPolicy ?? 'Allow' },
      ]
    case 'Service':
      return [
        { label: 'Type', value: spec.type ?? 'ClusterIP' },
        { label: 'Cluster IP', value: spec.clusterIP ?? 'none' },
        { label: 'Ports', value: list((spec.ports as Port[] | undefined)?.map((p) => `${p.name ? `${p.name} ` : ''}${p.port} → ${p.targetPort ?? p.port}/${p.protocol ?? 'TCP'}`)) },
        { label: 'Addresses', value: list((status.loadBalancer?.ingress as { ip?: string; hostname?: string }[] | undefined)?.map((i) => i.ip ?? i.hostname ?? '')) },
      ]
    case 'Ingress':
      return [
        { label: 'Class', value: spec.ingressClassName ?? 'default' },
        { label: 'Hosts', value: list((spec.rules as { host?: string }[] | undefined)?.map((r) => r.host ?? '*')) },
      ]
    case 'PersistentVolumeClaim':
      return [
        { label: 'Size', value: status.capacity?.storage ?? spec.resources?.requests?.storage ?? 'unknown' },
        { label: 'Class', value: spec.storageClassName ?? 'default' },
        { label: 'Access', value: list(spec.accessModes) },
        { label: 'Volume', value: spec.volumeName ? <Link to={objectPath(cluster, core('persistentvolumes'), '', spec.volumeName) as string}>{spec.volumeName}</Link> : 'none yet' },
      ]
    case 'PersistentVolume':
      return [
        { label: 'Size', value: spec.capacity?.storage ?? 'unknown' },
        { label: 'Reclaim policy', value: spec.persistentVolumeReclaimPolicy ?? 'unknown' },
        { label: 'Claim', value: spec.claimRef ? <Link to={objectPath(cluster, core('persistentvolumeclaims'), spec.claimRef.namespace, spec.claimRef.name) as string}>{`${spec.claimRef.namespace}/${spec.claimRef.name}`}</Link> : 'none' },
      ]
    case 'Secret':
      return [{ label: 'Type', value: String(o['type'] ?? 'Opaque') }]
    case 'CustomResourceDefinition':
      return [
        { label: 'Kind', value: spec.names?.kind ?? '' },
        { label: 'Scope', value: spec.scope ?? '' },
        { label: 'Versions', value: list((spec.versions as { name: string; served?: boolean }[] | undefined)?.map((v) => (v.served ? v.name : `${v.name} (not served)`))) },
      ]
    default:
      return namespace ? [{ label: 'Namespace', value: namespace }] : []
  }
}
