import { type Place, getObject, listObjects } from '../kube/calls'
import { type GVR, parseGVR } from '../kube/gvr'
import { type Kind, resourceOf } from '../kube/kinds'
import { type KubeObject, ownerOf, podSelector } from '../kube/object'
import { statusOf } from './state'

export interface Related {
  kind: string
  gvr: GVR
  namespace: string
  name: string
  // What it is to the object, where the kind does not say it.
  role?: string
  object?: KubeObject
}

export interface Relations {
  // From the object's owner up.
  owners: Related[]
  children: Related[]
  // What it refers to, and what refers to it.
  others: Related[]
  // What could not be read.
  problems: unknown[]
}

const gvr = (text: string) => parseGVR(text)!
const kinds = { pods: gvr('pods.v1'), replicaSets: gvr('replicasets.v1.apps'), jobs: gvr('jobs.v1.batch'), services: gvr('services.v1'), slices: gvr('endpointslices.v1.discovery.k8s.io'), configMaps: gvr('configmaps.v1'), secrets: gvr('secrets.v1'), claims: gvr('persistentvolumeclaims.v1'), nodes: gvr('nodes.v1'), accounts: gvr('serviceaccounts.v1'), volumes: gvr('persistentvolumes.v1'), classes: gvr('storageclasses.v1.storage.k8s.io') }

const maxOwners = 8

// ownersOf goes up from owner to owner.
async function ownersOf(place: Place, object: KubeObject, customs: Kind[], signal: AbortSignal): Promise<Related[]> {
  const chain: Related[] = []
  let now: KubeObject | undefined = object
  while (now && chain.length < maxOwners) {
    const owner = ownerOf(now)
    if (!owner) break
    const kind = resourceOf(owner.apiVersion, owner.kind, customs)
    const next: Related = { kind: owner.kind, gvr: kind, namespace: object.metadata.namespace ?? '', name: owner.name }
    chain.push(next)
    try {
      now = await getObject({ cluster: place.cluster, gvr: kind, namespace: kind.namespaced ? place.namespace : '' }, owner.name, signal)
      next.object = now
      next.namespace = now.metadata.namespace ?? ''
    } catch {
      // The owner may be gone, or not readable; the chain ends with its name.
      now = undefined
    }
  }
  return chain
}

function owned(items: KubeObject[], uid: string | undefined): KubeObject[] {
  return items.filter((o) => o.metadata.ownerReferences?.some((r) => r.uid === uid))
}

function as(gvr: GVR, items: KubeObject[], role?: string): Related[] {
  return items.map((o) => ({ kind: o.kind, gvr, namespace: o.metadata.namespace ?? '', name: o.metadata.name, object: o, ...(role ? { role } : {}) }))
}

function named(kind: string, gvr: GVR, namespace: string, names: Iterable<string | undefined>, role: string): Related[] {
  return [...new Set(names)].flatMap((name) => (name ? [{ kind, gvr, namespace, name, role }] : []))
}

interface Volume {
  configMap?: { name?: string }
  secret?: { secretName?: string }
  persistentVolumeClaim?: { claimName?: string }
  projected?: { sources?: { configMap?: { name?: string }; secret?: { name?: string } }[] }
}

interface Source {
  configMapKeyRef?: { name?: string }
  secretKeyRef?: { name?: string }
}

// usedBy is what a pod mounts, reads and runs as.
export function usedBy(spec: KubeObject['spec'], namespace: string): Related[] {
  const volumes = (spec?.volumes ?? []) as Volume[]
  const containers = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])] as { env?: { valueFrom?: Source }[]; envFrom?: { configMapRef?: { name?: string }; secretRef?: { name?: string } }[] }[]
  const env = containers.flatMap((c) => c.env ?? []).map((e) => e.valueFrom)
  const from = containers.flatMap((c) => c.envFrom ?? [])
  const projected = volumes.flatMap((v) => v.projected?.sources ?? [])
  return [
    ...named('ConfigMap', kinds.configMaps, namespace, [...volumes.map((v) => v.configMap?.name), ...projected.map((s) => s.configMap?.name), ...env.map((e) => e?.configMapKeyRef?.name), ...from.map((f) => f.configMapRef?.name)], 'configuration'),
    ...named('Secret', kinds.secrets, namespace, [...volumes.map((v) => v.secret?.secretName), ...projected.map((s) => s.secret?.name), ...env.map((e) => e?.secretKeyRef?.name), ...from.map((f) => f.secretRef?.name), ...((spec?.imagePullSecrets ?? []) as { name?: string }[]).map((s) => s.name)], 'secret values'),
    ...named('PersistentVolumeClaim', kinds.claims, namespace, volumes.map((v) => v.persistentVolumeClaim?.claimName), 'storage'),
    ...named('ServiceAccount', kinds.accounts, namespace, [spec?.serviceAccountName], 'runs as'),
    ...named('Node', kinds.nodes, '', [spec?.nodeName], 'runs on'),
  ]
}

export function selects(selector: Record<string, string> | undefined, labels: Record<string, string> | undefined): boolean {
  const wanted = Object.entries(selector ?? {})
  return wanted.length > 0 && wanted.every(([k, v]) => labels?.[k] === v)
}

// relationsOf reads what is around an object. One part that cannot be read hides
// no other.
export async function relationsOf(place: Place, object: KubeObject, customs: Kind[], signal: AbortSignal): Promise<Relations> {
  const { metadata, kind } = object
  const { namespace = '', uid } = metadata
  const problems: unknown[] = []
  const read = async (gvr: GVR, labelSelector = ''): Promise<KubeObject[]> => {
    try {
      return (await listObjects({ cluster: place.cluster, gvr, namespace }, { labelSelector, limit: 500 }, signal)).items
    } catch (error) {
      problems.push(error)
      return []
    }
  }
  const selector = podSelector(object)
  const pod = kind === 'Pod' ? object['spec'] : object['spec']?.template?.spec
  const labels = kind === 'Pod' ? metadata.labels : (object['spec']?.template?.metadata?.labels as Record<string, string> | undefined)
  const [owners, sets, jobs, pods, services, slices] = await Promise.all([
    ownersOf(place, object, customs, signal),
    kind === 'Deployment' ? read(kinds.replicaSets, selector).then((all) => owned(all, uid)) : [],
    kind === 'CronJob' ? read(kinds.jobs).then((all) => owned(all, uid)) : [],
    selector && kind !== 'PodDisruptionBudget' ? read(kinds.pods, selector) : [],
    pod && labels ? read(kinds.services).then((all) => all.filter((s) => selects(s['spec']?.selector, labels))) : [],
    kind === 'Service' ? read(kinds.slices, `kubernetes.io/service-name=${metadata.name}`) : [],
  ])
  const mine = kind === 'Deployment' ? pods.filter((p) => sets.some((s) => owned([p], s.metadata.uid).length > 0)) : kind === 'Service' ? pods : owned(pods, uid)
  const live = sets.filter((s) => Number(s['spec']?.replicas ?? 0) > 0 || Number(s['status']?.replicas ?? 0) > 0)
  const spec = object['spec'] ?? {}
  return {
    owners,
    children: [...as(kinds.replicaSets, live), ...as(kinds.jobs, jobs), ...as(kinds.pods, mine), ...as(kinds.slices, slices)],
    others: [
      ...as(kinds.services, services, 'sends traffic to it'),
      ...(pod ? usedBy(pod, namespace) : []),
      ...(kind === 'PersistentVolumeClaim' ? [...named('PersistentVolume', kinds.volumes, '', [spec.volumeName], 'volume'), ...named('StorageClass', kinds.classes, '', [spec.storageClassName], 'class')] : []),
      ...(kind === 'PersistentVolume' && spec.claimRef ? named('PersistentVolumeClaim', kinds.claims, spec.claimRef.namespace, [spec.claimRef.name], 'claim') : []),
      ...(kind === 'Ingress' ? named('Service', kinds.services, namespace, ((spec.rules ?? []) as { http?: { paths?: { backend?: { service?: { name?: string } } }[] } }[]).flatMap((r) => (r.http?.paths ?? []).map((p) => p.backend?.service?.name)), 'backend') : []),
    ],
    problems,
  }
}

export { statusOf }
