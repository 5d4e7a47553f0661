import type { Repository } from '#/api/gen/hub/v1/hub_pb'
import { words } from '#/api/rules'
import { type Search, textOf } from '#/app/search'
import { nameOf } from '#/app/views/name'

export const kinds = words.repositoryTypes
export const order = ['Failed', 'Unknown', 'Pullable']

export interface RepositoryFilter {
  q: string
  health: string
  type: string
  sort: string
}

export function filterOf(search: Search): RepositoryFilter {
  return { q: textOf(search['q']), health: textOf(search['health']), type: textOf(search['type']), sort: textOf(search['sort']) }
}

// viewNameOf is a name for the repositories that match: "Failed git repositories".
export function viewNameOf({ q, health, type }: RepositoryFilter, by: string | undefined): string {
  return nameOf({ noun: `${type} repositories`.trimStart(), are: health ? [health] : [], more: by && !(q || health || type) ? [`by ${by.toLowerCase()}`] : [], where: q ? [`text has “${q}”`] : [] })
}

type Row = Pick<Repository, 'name' | 'url' | 'project' | 'health' | 'type' | 'lastFetchAt' | 'nextFetchAt' | 'services' | 'owner' | 'message'>

// visible are the repositories that match, what fails first unless a column
// decides the order.
export function visible<R extends Row>(all: R[], { q, health, type, sort }: RepositoryFilter): R[] {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean)
  const text = (r: R) => `${r.name} ${r.url} ${r.project} ${r.owner} ${r.message}`.toLowerCase()
  const rows = all.filter((r) => (!health || r.health === health) && (!type || r.type === type) && words.every((w) => text(r).includes(w)))
  const field = sort.replace(/^-/, '')
  const way = sort.startsWith('-') ? -1 : 1
  return rows.toSorted((a, b) => {
    const by = field === 'name' ? a.name.localeCompare(b.name) : field === 'fetched' ? Number(a.lastFetchAt - b.lastFetchAt) : field === 'services' ? a.services - b.services : field === 'owner' ? a.owner.localeCompare(b.owner) : 0
    return by * way || order.indexOf(a.health) - order.indexOf(b.health) || a.name.localeCompare(b.name)
  })
}

export function counts(all: Row[], of: (r: Row) => string): Map<string, number> {
  const out = new Map<string, number>()
  for (const r of all) out.set(of(r), (out.get(of(r)) ?? 0) + 1)
  return out
}
