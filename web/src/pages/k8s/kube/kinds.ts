import { type GVR, splitAPIVersion } from './gvr'

// Kind is a kind of objects that a person can look at.
export interface Kind extends GVR {
  kind: string
  namespaced: boolean
  area: string
  // Defined by a CustomResourceDefinition: kind and scope are not known from its name.
  custom?: boolean
}

function of(area: string, apiVersion: string, namespaced: boolean, ...names: [kind: string, resource: string][]): Kind[] {
  return names.map(([kind, resource]) => ({ ...splitAPIVersion(apiVersion), kind, resource, namespaced, area }))
}

// The kinds that every supported Kubernetes version serves. The hub passes no
// discovery, so they are a table; CustomResourceDefinitions are read as objects.
export const builtinKinds: Kind[] = [
  ...of('Workloads', 'v1', true, ['Pod', 'pods'], ['ReplicationController', 'replicationcontrollers'], ['PodTemplate', 'podtemplates']),
  ...of('Workloads', 'apps/v1', true, ['Deployment', 'deployments'], ['StatefulSet', 'statefulsets'], ['DaemonSet', 'daemonsets'], ['ReplicaSet', 'replicasets'], ['ControllerRevision', 'controllerrevisions']),
  ...of('Workloads', 'batch/v1', true, ['Job', 'jobs'], ['CronJob', 'cronjobs']),
  ...of('Workloads', 'autoscaling/v2', true, ['HorizontalPodAutoscaler', 'horizontalpodautoscalers']),
  ...of('Workloads', 'policy/v1', true, ['PodDisruptionBudget', 'poddisruptionbudgets']),
  ...of('Network', 'v1', true, ['Service', 'services'], ['Endpoints', 'endpoints']),
  ...of('Network', 'discovery.k8s.io/v1', true, ['EndpointSlice', 'endpointslices']),
  ...of('Network', 'networking.k8s.io/v1', true, ['Ingress', 'ingresses'], ['NetworkPolicy', 'networkpolicies']),
  ...of('Network', 'networking.k8s.io/v1', false, ['IngressClass', 'ingressclasses']),
  ...of('Configuration', 'v1', true, ['ConfigMap', 'configmaps'], ['Secret', 'secrets'], ['ResourceQuota', 'resourcequotas'], ['LimitRange', 'limitranges']),
  ...of('Configuration', 'scheduling.k8s.io/v1', false, ['PriorityClass', 'priorityclasses']),
  ...of('Configuration', 'node.k8s.io/v1', false, ['RuntimeClass', 'runtimeclasses']),
  ...of('Storage', 'v1', true, ['PersistentVolumeClaim', 'persistentvolumeclaims']),
  ...of('Storage', 'v1', false, ['PersistentVolume', 'persistentvolumes']),
  ...of('Storage', 'storage.k8s.io/v1', false, ['StorageClass', 'storageclasses'], ['VolumeAttachment', 'volumeattachments'], ['CSIDriver', 'csidrivers'], ['CSINode', 'csinodes']),
  ...of('Storage', 'storage.k8s.io/v1', true, ['CSIStorageCapacity', 'csistoragecapacities']),
  ...of('Access', 'v1', true, ['ServiceAccount', 'serviceaccounts']),
  ...of('Access', 'rbac.authorization.k8s.io/v1', true, ['Role', 'roles'], ['RoleBinding', 'rolebindings']),
  ...of('Access', 'rbac.authorization.k8s.io/v1', false, ['ClusterRole', 'clusterroles'], ['ClusterRoleBinding', 'clusterrolebindings']),
  ...of('Access', 'certificates.k8s.io/v1', false, ['CertificateSigningRequest', 'certificatesigningrequests']),
  ...of('Cluster', 'v1', false, ['Namespace', 'namespaces'], ['Node', 'nodes']),
  ...of('Cluster', 'v1', true, ['Event', 'events']),
  ...of('Cluster', 'coordination.k8s.io/v1', true, ['Lease', 'leases']),
  ...of('Cluster', 'apiextensions.k8s.io/v1', false, ['CustomResourceDefinition', 'customresourcedefinitions']),
  ...of('Cluster', 'apiregistration.k8s.io/v1', false, ['APIService', 'apiservices']),
  ...of('Admission', 'admissionregistration.k8s.io/v1', false, ['MutatingWebhookConfiguration', 'mutatingwebhookconfigurations'], ['ValidatingWebhookConfiguration', 'validatingwebhookconfigurations'], ['ValidatingAdmissionPolicy', 'validatingadmissionpolicies'], ['ValidatingAdmissionPolicyBinding', 'validatingadmissionpolicybindings']),
  ...of('Admission', 'flowcontrol.apiserver.k8s.io/v1', false, ['FlowSchema', 'flowschemas'], ['PriorityLevelConfiguration', 'prioritylevelconfigurations']),
]

export const areas = ['Workloads', 'Network', 'Configuration', 'Storage', 'Access', 'Cluster', 'Admission', 'Custom resources']

export function sameKind(a: GVR, b: GVR): boolean {
  return a.group === b.group && a.resource === b.resource
}

export function builtin(gvr: GVR): Kind | undefined {
  return builtinKinds.find((k) => sameKind(k, gvr) && k.version === gvr.version)
}

// kindOf is what is known of a kind before anything of it was read.
export function kindOf(gvr: GVR): Kind {
  return builtin(gvr) ?? { ...gvr, kind: gvr.resource, namespaced: true, area: 'Custom resources', custom: true }
}

// resourceOf is the kind of a reference, such as an owner's. A custom resource's
// plural is not in the reference: it is that of a definition in the same group,
// or as Kubernetes itself guesses it.
export function resourceOf(apiVersion: string, kind: string, customs: Kind[] = []): Kind {
  const { group, version } = splitAPIVersion(apiVersion)
  const known = builtinKinds.find((k) => k.group === group && k.kind === kind)
  if (known) return known
  const lower = kind.toLowerCase()
  const guess = /(s|x|ch|sh)$/.test(lower) ? `${lower}es` : /[^aeiou]y$/.test(lower) ? `${lower.slice(0, -1)}ies` : `${lower}s`
  const custom = customs.find((k) => k.group === group && (k.resource === guess || k.resource === lower))
  return { group, version, resource: custom?.resource ?? guess, kind, namespaced: true, area: 'Custom resources', custom: true }
}

// customKinds are the kinds of CustomResourceDefinitions by their names
// ("widgets.example.com"), in the version that the API server prefers, which
// APIServices ("v1.example.com") tell.
export function customKinds(definitions: string[], services: { group: string; version: string; priority: number }[]): Kind[] {
  const best = new Map<string, { version: string; priority: number }>()
  for (const s of services) {
    const before = best.get(s.group)
    if (!before || s.priority > before.priority) best.set(s.group, s)
  }
  return definitions.flatMap((name) => {
    const at = name.indexOf('.')
    const group = name.slice(at + 1)
    const version = best.get(group)?.version
    return at > 0 && version ? [{ group, version, resource: name.slice(0, at), kind: name.slice(0, at), namespaced: true, area: 'Custom resources', custom: true }] : []
  })
}
