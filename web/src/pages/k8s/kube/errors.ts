import { problemOf } from '#/api/errors'

// What a cluster's refusal means; the message stays the server's.
export type Refusal = 'conflict' | 'forbidden' | 'invalid' | 'webhook' | 'missing' | 'unreachable' | 'other'

export interface Denied {
  // Who was refused what, by the API server's RBAC.
  user: string
  verb: string
  resource: string
  group: string
  namespace: string
  name: string
}

// A read says "the cluster answered 403: …", a write "Error from server (Forbidden): …".
const answered = /(?:the cluster answered (\d{3})|Error from server \((\w+)\)): (.*)/s
const rbac = /^(\S+?)(?: "([^"]*)")? is forbidden: User "([^"]+)" cannot (\S+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]+)")?/

export function deniedOf(message: string): Denied | undefined {
  const parts = rbac.exec(answered.exec(message)?.[3] ?? message)
  return parts ? { name: parts[2] ?? '', user: parts[3]!, verb: parts[4]!, resource: parts[5]!, group: parts[6]!, namespace: parts[7] ?? '' } : undefined
}

export function refusalOf(error: unknown): Refusal {
  const { code, message } = problemOf(error)
  const [, status = '', reason = ''] = answered.exec(message) ?? []
  if (/admission webhook "[^"]+" denied|ValidatingAdmissionPolicy '[^']+'.* denied|failed calling webhook/.test(message)) return 'webhook'
  if (status === '409' || reason === 'Conflict' || code === 'conflict') return 'conflict'
  if (status === '403' || reason === 'Forbidden' || code === 'forbidden') return 'forbidden'
  if (status === '404' || reason === 'NotFound' || code === 'not_found') return 'missing'
  if (/^(400|422)$/.test(status) || reason === 'Invalid' || reason === 'BadRequest' || code === 'invalid') return 'invalid'
  if (code === 'offline' || code === 'unavailable') return 'unreachable'
  return 'other'
}

// grantFor is the YAML that would allow what was refused to one person in one place.
export function grantFor(denied: Denied[]): string {
  const [{ user, namespace, resource, verb } = { user: '', namespace: '', resource: '', verb: '' }] = denied
  const kind = namespace ? 'Role' : 'ClusterRole'
  const name = `${denied.length > 1 ? 'workloads' : resource.replaceAll(/[^a-z0-9-]/g, '-')}-${verb}`
  const where = namespace ? `\n  namespace: ${namespace}` : ''
  const groups = new Map<string, Set<string>>()
  for (const d of denied) {
    const rule = `\n  - apiGroups: [${JSON.stringify(d.group)}]\n    verbs: [${JSON.stringify(d.verb)}]\n    resources: `
    groups.set(rule, (groups.get(rule) ?? new Set()).add(JSON.stringify(d.resource)))
  }
  const rules = [...groups].map(([rule, resources]) => `${rule}[${[...resources].join(', ')}]`)
  return `apiVersion: rbac.authorization.k8s.io/v1
kind: ${kind}
metadata:
  name: ${name}${where}
rules:${rules.join('')}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ${kind}Binding
metadata:
  name: ${name}${where}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ${kind}
  name: ${name}
subjects:
  - apiGroup: rbac.authorization.k8s.io
    kind: User
    name: ${JSON.stringify(user)}
`
}
