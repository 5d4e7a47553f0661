import type { ReadinessAddon, ReadinessFinding, ReadinessResponse } from '#/api/gen/hub/v1/readiness_pb'

// nextMinor is the minor version after that of a cluster, empty when that is unknown.
export function nextMinor(version: string): string {
  const [, major, minor] = version.match(/^v?(\d+)\.(\d+)/) ?? []
  return minor === undefined ? '' : `${major}.${Number(minor) + 1}`
}

const titles: Record<string, string> = {
  version: 'The version',
  applied: 'Objects of services',
  requested: 'APIs that clients request',
  releases: 'Releases of Helm',
  budgets: 'PodDisruptionBudgets',
  nodes: 'Nodes',
  addons: 'Add-ons',
  charts: 'Charts of other releases',
}

// titleOf is what a check looks at.
export function titleOf(check: string): string {
  return titles[check] ?? check
}

// objectOf is what a finding is about: for an API without an object, the API.
export function objectOf(f: Pick<ReadinessFinding, 'group' | 'version' | 'kind' | 'namespace' | 'name' | 'release'>): string {
  if (!f.kind) return ''
  const kind = [f.group, f.version, f.kind].filter(Boolean).join('/')
  if (!f.name) return kind
  // The namespace of a finding in a release is that of the release.
  return `${kind} ${f.namespace && !f.release ? `${f.namespace}/` : ''}${f.name}`
}

// addonsOf are the add-ons that were found.
export function addonsOf(r: Pick<ReadinessResponse, 'checks'>): ReadinessAddon[] {
  return r.checks.flatMap((c) => c.addons)
}

// changesOf are the changes up to the version to upgrade to, as lines of text.
export function changesOf(a: Pick<ReadinessAddon, 'changes'>): string[] {
  return a.changes.flatMap((c) => [...c.breakingChanges.map((t) => `${c.version}, breaking: ${t}`), ...c.helmChanges.map((t) => `${c.version}, chart: ${t}`)])
}

// uncounted are the checks that do not count in the result.
export function uncounted(r: Pick<ReadinessResponse, 'checks'>): string[] {
  return r.checks.filter((c) => c.state === 'NotChecked').map((c) => titleOf(c.name))
}
