// A kind of objects as addresses name it, in kubectl's form: "pods.v1",
// "deployments.v1.apps". Names that Kubernetes does not allow are no kind.

export interface GVR {
  group: string
  version: string
  // The plural name.
  resource: string
}

const form = /^([a-z0-9](?:[-a-z0-9]*[a-z0-9])?)\.(v[0-9][a-z0-9]*)(?:\.([a-z0-9](?:[-.a-z0-9]*[a-z0-9])?))?$/

export function parseGVR(text: string): GVR | undefined {
  const parts = form.exec(text)
  return parts ? { resource: parts[1]!, version: parts[2]!, group: parts[3] ?? '' } : undefined
}

export function formatGVR({ group, version, resource }: GVR): string {
  return `${resource}.${version}${group ? `.${group}` : ''}`
}

export function apiVersionOf({ group, version }: GVR): string {
  return group ? `${group}/${version}` : version
}

export function splitAPIVersion(apiVersion: string): { group: string; version: string } {
  const at = apiVersion.indexOf('/')
  return at < 0 ? { group: '', version: apiVersion } : { group: apiVersion.slice(0, at), version: apiVersion.slice(at + 1) }
}

// What stands for the namespace of an object that has none; no namespace has
// this name.
export const noNamespace = '-'

const part = encodeURIComponent

export function listPath(cluster: string, gvr: GVR): string {
  return `/clusters/${part(cluster)}/k8s/${part(formatGVR(gvr))}`
}

export function objectPath(cluster: string, gvr: GVR, namespace: string, name: string, tab = 'summary'): string {
  return `${listPath(cluster, gvr)}/${part(namespace || noNamespace)}/${part(name)}/${tab}`
}
