import { type Json, type Shape } from './schema'
import { problemOf } from '#/api/errors'
import { quote } from '#/pages/clusters/install'

export interface ClusterForm {
  template: string
  name: string
  project: string
  // Empty is the template's only one.
  management: string
  tags: Record<string, string>
}

// commandOf does the same from a terminal.
export function commandOf(f: ClusterForm, shapes: Shape[], given: { [name: string]: Json }): string {
  const parts = [`axle clusters create ${quote(f.name || 'NAME')} --template ${quote(f.template || 'TEMPLATE')}`]
  if (f.management) parts.push(`--on ${quote(f.management)}`)
  if (f.project && f.project !== 'default') parts.push(`--project ${quote(f.project)}`)
  for (const [key, value] of Object.entries(f.tags)) parts.push(`--tag ${quote(`${key}=${value}`)}`)
  for (const [name, value] of Object.entries(given)) {
    const isText = shapes.find((s) => s.name === name)?.schema.type === 'string'
    parts.push(`--set ${quote(`${name}=${isText && typeof value === 'string' ? value : JSON.stringify(value)}`)}`)
  }
  return parts.join(' \\\n  ')
}

// objectOf declares the same to the operator, in the namespace of the control plane.
export function objectOf(f: ClusterForm, given: { [name: string]: Json }): Json {
  return {
    apiVersion: 'axle-cd.github.io/v1alpha1',
    kind: 'ClusterRegistration',
    metadata: { name: f.name || 'NAME', namespace: 'axle' },
    spec: {
      project: f.project || 'default',
      ...(Object.keys(f.tags).length > 0 && { tags: f.tags }),
      templateRef: { name: f.template },
      ...(f.management && { managementCluster: f.management }),
      ...(Object.keys(given).length > 0 && { variables: given }),
    },
  }
}

const fields = { variables: true, management_cluster: true, template: true, project: true, name: true } as const

// refusalsOf are the mistakes that the hub names, by field: variables without their first word, and the fields of the form.
export function refusalsOf(error: unknown): Map<string, string> {
  const out = new Map<string, string>()
  if (!error) return out
  for (const one of problemOf(error).message.split(/; (?=variables[.:])/)) {
    const [, field, path = '', text = ''] = one.match(/^(\w+)((?:\.[^:\s]+)?): (.*)$/s) ?? []
    if (!field || !(field in fields)) continue
    const missing = field === 'variables' ? text.match(/^missing propert(?:y|ies):? (.*)$/)?.[1] : undefined
    for (const name of missing?.match(/[\w-]+/g) ?? []) out.set(`${path}.${name}`.slice(1), 'is needed')
    if (!missing) out.set(field === 'variables' ? path.slice(1) : `:${field}`, text)
  }
  return out
}
