import { wordsOf } from '../pairs'
import { type Window, checkWindow } from '../windows'
import type { ProjectLimits } from '#/api/gen/hub/v1/hub_pb'
import { many } from '#/ds/Text'

export interface LimitsForm {
  namespaces: string
  kinds: string
  accounts: string
  clusterScoped: boolean
  serviceAccount: string
  windows: Window[]
  clusters: string
  services: string
  previews: string
  machines: string
  domains: string
  applications: string
}

const text = (n: number | undefined) => (n ? String(n) : '')

export function limitsForm(l: ProjectLimits | undefined): LimitsForm {
  return { namespaces: l?.namespaces.join('\n') ?? '', kinds: l?.kinds.join('\n') ?? '', accounts: l?.accounts.join('\n') ?? '', clusterScoped: l?.clusterScoped ?? false, serviceAccount: l?.serviceAccount ?? '', windows: (l?.syncWindows ?? []).map((w) => ({ kind: w.kind, schedule: w.schedule, duration: w.duration, timeZone: w.timeZone, manualSync: w.manualSync })), clusters: text(l?.clusters), services: text(l?.services), previews: text(l?.previews), machines: text(l?.machines), domains: l?.domains.join('\n') ?? '', applications: text(l?.applications) }
}

export function limitsOf(f: LimitsForm) {
  return { namespaces: wordsOf(f.namespaces), kinds: wordsOf(f.kinds), accounts: wordsOf(f.accounts), clusterScoped: f.clusterScoped, serviceAccount: f.serviceAccount.trim(), syncWindows: f.windows, clusters: Number(f.clusters), services: Number(f.services), previews: Number(f.previews), machines: Number(f.machines), domains: wordsOf(f.domains), applications: Number(f.applications) }
}

export function problemIn(f: LimitsForm): string | undefined {
  for (const [i, w] of f.windows.entries()) {
    const bad = checkWindow(w)
    if (bad) return `Window ${i + 1}: ${bad}`
  }
  for (const [title, n] of [['Clusters', f.clusters], ['Machines', f.machines], ['Services', f.services], ['Open previews', f.previews], ['Applications', f.applications]] as const) {
    if (!/^\d{0,9}$/.test(n.trim())) return `${title}: a whole number; empty is no limit.`
  }
  if (f.serviceAccount && !/^([a-z0-9-]+\/)?[a-z0-9.-]+$/.test(f.serviceAccount.trim())) return 'Service account: NAME, or NAMESPACE/NAME.'
  return undefined
}

// limitsText says the limits in a line.
export function limitsText(l: ProjectLimits | undefined, project: string): string {
  const parts = [
    l?.namespaces.length && `only in namespaces ${l.namespaces.join(', ')}`,
    l?.kinds.length && `only kinds ${l.kinds.join(', ')}`,
    project !== 'default' && (l?.clusterScoped ? 'cluster-scoped objects too' : 'no cluster-scoped objects'),
    l?.serviceAccount && `as service account ${l.serviceAccount}`,
    l?.accounts.length && `as accounts ${l.accounts.join(', ')}`,
    l?.clusters && `at most ${many(l.clusters, 'cluster')}`,
    l?.machines && `at most ${many(l.machines, 'machine')}`,
    l?.services && `at most ${many(l.services, 'service')}`,
    l?.previews && `at most ${many(l.previews, 'open preview')}`,
    l?.applications && `at most ${many(l.applications, 'application')}`,
    l?.domains.length && `owns ${l.domains.join(', ')}`,
    l?.syncWindows.length && many(l.syncWindows.length, 'sync window'),
  ].filter(Boolean)
  return parts.join('; ') || 'none'
}
