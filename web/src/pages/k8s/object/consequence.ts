import type { KubeObject } from '../kube/object'

// consequenceOf says what a deletion does, in one or two sentences.
export function consequenceOf(o: KubeObject): string {
  const { name, finalizers = [] } = o.metadata
  const waits = finalizers.length ? ` It goes when its finalizers are done: ${finalizers.join(', ')}.` : ''
  switch (o.kind) {
    case 'Namespace':
      return `Everything in the namespace ${name} is deleted with it: workloads, configuration, Secrets, and volume claims with their data. This cannot be undone.${waits}`
    case 'PersistentVolumeClaim':
      return `Its volume is released; with the reclaim policy Delete, which most storage classes have, the data is destroyed. This cannot be undone.${waits}`
    case 'PersistentVolume':
      return `The cluster forgets this volume. Whether its data stays depends on its reclaim policy, ${String(o['spec']?.persistentVolumeReclaimPolicy ?? 'unknown')}.${waits}`
    case 'CustomResourceDefinition':
      return `Every object of the kind ${String(o['spec']?.names?.kind ?? name)} on this cluster is deleted with it. This cannot be undone.${waits}`
    case 'Deployment':
    case 'StatefulSet':
    case 'DaemonSet':
    case 'ReplicaSet':
    case 'Job':
    case 'CronJob':
      return `Its dependents are deleted with it: its pods end.${o.kind === 'StatefulSet' ? ' Its volume claims stay.' : ''}${waits}`
    case 'Pod':
      return `Its containers end.${o.metadata.ownerReferences?.length ? ' Its owner starts another one.' : ' Nothing starts it again.'}${waits}`
    case 'Node':
      return `The cluster forgets this node, and its pods are deleted. A kubelet that still runs registers it again.${waits}`
    case 'Secret':
    case 'ConfigMap':
      return `Pods that mount it or read variables from it cannot start any more. Running ones go on until they restart.${waits}`
    case 'Service':
    case 'Ingress':
      return `Traffic to it ends at once.${waits}`
    default:
      return `It is deleted, with what it owns.${waits}`
  }
}

// typedConfirmation says for what a person has to write the name.
export function typedConfirmation(o: KubeObject): boolean {
  return ['Namespace', 'PersistentVolumeClaim', 'PersistentVolume', 'CustomResourceDefinition', 'Node'].includes(o.kind)
}
