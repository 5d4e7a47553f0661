import type { KubeObject, Meta } from './object'

// Who else writes an object, so that an edit here will not last.
export interface Origin {
  tool: 'Axle' | 'Helm' | 'Argo CD' | 'Flux' | 'Terraform' | 'owner'
  // Its name for what the object comes from.
  id: string
  // What happens to an edit.
  effect: string
}

export const managedLabel = 'axle-cd.github.io/managed'
export const serviceAnnotation = 'axle-cd.github.io/service'
const tracking = 'axle-cd.github.io/tracking'

// serviceOf is the id of the service that delivers the object. A tracking mark
// that names another object was copied by a controller and means nothing.
export function serviceOf(o: { apiVersion?: string; kind?: string; metadata: Meta }): string | undefined {
  const { annotations = {}, labels = {}, namespace = '', name } = o.metadata
  const id = annotations[serviceAnnotation]
  if (!id || !labels[managedLabel]) return undefined
  const mark = annotations[tracking]
  if (mark === undefined || !o.kind) return id
  const group = o.apiVersion?.includes('/') ? o.apiVersion.split('/')[0] : ''
  return mark === `${group}/${o.kind}/${namespace}/${name}` ? id : undefined
}

// originsOf are the tools that write the object, by the marks that they leave.
export function originsOf(o: KubeObject): Origin[] {
  const { annotations = {}, labels = {}, managedFields = [], ownerReferences = [] } = o.metadata
  const managers = managedFields.map((f) => f.manager ?? '')
  const all: Origin[] = []
  const service = serviceOf(o)
  if (service) all.push({ tool: 'Axle', id: service, effect: 'Axle will revert this' })
  const release = annotations['meta.helm.sh/release-name']
  if (release && !service) all.push({ tool: 'Helm', id: `${annotations['meta.helm.sh/release-namespace'] ?? ''}/${release}`, effect: 'the next helm upgrade may revert this' })
  const argo = annotations['argocd.argoproj.io/tracking-id']?.split(':')[0] ?? labels['argocd.argoproj.io/instance'] ?? (managers.some((m) => m.startsWith('argocd')) ? labels['app.kubernetes.io/instance'] : undefined)
  if (argo) all.push({ tool: 'Argo CD', id: argo, effect: 'Argo CD will report a difference, and revert this when it heals itself' })
  const flux = labels['kustomize.toolkit.fluxcd.io/name'] ?? labels['helm.toolkit.fluxcd.io/name']
  if (flux) all.push({ tool: 'Flux', id: `${labels['kustomize.toolkit.fluxcd.io/namespace'] ?? labels['helm.toolkit.fluxcd.io/namespace'] ?? ''}/${flux}`, effect: 'Flux will revert this at its next reconciliation' })
  if (managers.some((m) => /^(terraform|opentofu|hashicorp)/i.test(m)) || labels['app.kubernetes.io/managed-by']?.toLowerCase() === 'terraform') {
    all.push({ tool: 'Terraform', id: '', effect: 'the next terraform apply reverts the fields that it set' })
  }
  const owner = ownerReferences.find((r) => r.controller)
  if (owner && !service) all.push({ tool: 'owner', id: `${owner.kind} ${owner.name}`, effect: `${owner.kind} ${owner.name} may revert this` })
  return all
}
