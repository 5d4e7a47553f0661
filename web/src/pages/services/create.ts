import { nameProblem } from '#/api/names'
import { rules } from '#/api/rules'
import { quote } from '#/pages/clusters/install'

export interface ServiceForm {
  cluster: string
  name: string
  repository: string
  ref: string
  folder: string
  // Empty is the service's name.
  namespace: string
}

export const emptyService: ServiceForm = { cluster: '', name: '', repository: '', ref: 'main', folder: '', namespace: '' }

// problemIn is what is wrong with the form, in words; the hub checks again.
export function problemIn(f: ServiceForm): string | undefined {
  if (!f.cluster.trim()) return 'Cluster: it is missing.'
  const name = nameProblem(rules.label, f.name)
  if (name) return name
  if (!f.repository) return 'Repository: choose one.'
  if (!f.ref.trim()) return 'Branch, tag or commit: it is missing.'
  if (/^\/|(^|\/)\.\.(\/|$)/.test(f.folder)) return 'Folder: a path inside the repository, such as apps/web.'
  return f.namespace ? nameProblem(rules.label, f.namespace, 'Namespace') : undefined
}

export function requestOf(f: ServiceForm) {
  return { ref: { cluster: f.cluster.trim(), name: f.name }, spec: { namespace: f.namespace, repository: f.repository, git: { ref: f.ref.trim(), folder: f.folder.trim() } } }
}

// commandOf does the same from a terminal.
export function commandOf(f: ServiceForm): string {
  const parts = ['axle services create', `${quote(f.cluster.trim() || 'CLUSTER')}/${quote(f.name || 'NAME')}`, `--repo ${quote(f.repository || 'REPOSITORY')}`, `--ref ${quote(f.ref.trim() || 'main')}`]
  if (f.folder.trim()) parts.push(`--folder ${quote(f.folder.trim())}`)
  if (f.namespace) parts.push(`--namespace ${quote(f.namespace)}`)
  return parts.join(' ')
}
