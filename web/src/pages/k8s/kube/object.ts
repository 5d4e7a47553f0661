// Objects of a cluster as the API server sends them, and what pages ask of them.

export interface OwnerReference {
  apiVersion: string
  kind: string
  name: string
  uid: string
  controller?: boolean
}

export interface Meta {
  name: string
  namespace?: string
  uid?: string
  resourceVersion?: string
  creationTimestamp?: string
  deletionTimestamp?: string
  generation?: number
  labels?: Record<string, string>
  annotations?: Record<string, string>
  ownerReferences?: OwnerReference[]
  finalizers?: string[]
  managedFields?: { manager?: string; operation?: string; time?: string; fieldsV1?: unknown }[]
}

export interface Condition {
  type: string
  status: string
  reason?: string
  message?: string
  lastTransitionTime?: string
  lastUpdateTime?: string
}

export interface KubeObject {
  apiVersion: string
  kind: string
  metadata: Meta
  // oxlint-disable-next-line typescript/no-explicit-any -- kinds differ, and a page looks at few fields
  [field: string]: any
}

const decoder = new TextDecoder()

export function decode<T = KubeObject>(json: Uint8Array): T {
  return JSON.parse(decoder.decode(json)) as T
}

// micros is a time of Kubernetes as the console's parts take it; 0 is never.
export function micros(time: string | undefined): number {
  const ms = time ? Date.parse(time) : Number.NaN
  return Number.isNaN(ms) ? 0 : ms * 1_000
}

export function conditionsOf(o: KubeObject): Condition[] {
  const all: unknown = o['status']?.conditions
  return Array.isArray(all) ? (all as Condition[]).filter((c) => typeof c?.type === 'string') : []
}

export function ownerOf(o: { metadata: Meta }): OwnerReference | undefined {
  const owners = o.metadata.ownerReferences
  return owners?.find((r) => r.controller) ?? owners?.[0]
}

// selectorText is a label selector as the API takes it.
export function selectorText(selector: { matchLabels?: Record<string, string>; matchExpressions?: { key: string; operator: string; values?: string[] }[] } | undefined): string {
  const labels = Object.entries(selector?.matchLabels ?? {}).map(([k, v]) => `${k}=${v}`)
  const others = (selector?.matchExpressions ?? []).map(({ key, operator, values = [] }) =>
    operator === 'In' ? `${key} in (${values.join(',')})` : operator === 'NotIn' ? `${key} notin (${values.join(',')})` : operator === 'Exists' ? key : `!${key}`,
  )
  return [...labels, ...others].join(',')
}

// podSelector selects the pods of a workload; empty when the kind has none.
export function podSelector(o: KubeObject): string {
  if (o.kind === 'Service' || o.kind === 'ReplicationController') return selectorText({ matchLabels: o['spec']?.selector })
  return ['Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet', 'Job', 'PodDisruptionBudget'].includes(o.kind) ? selectorText(o['spec']?.selector) : ''
}

const prod = /^(prod|production|live)$/i

// isProd says whether tags or labels call something production.
export function isProd(marks: Record<string, string> | undefined): string | undefined {
  for (const [key, value] of Object.entries(marks ?? {})) {
    if (prod.test(value) || (/^prod(uction)?$/i.test(key) && !/^(false|no|0)$/i.test(value))) return `${key}=${value}`
  }
  return undefined
}
