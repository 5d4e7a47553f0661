import type { AuditRecord } from '#/api/gen/hub/v1/audit_pb'
import type { Token } from '#/api/gen/hub/v1/hub_pb'

// What a record says; the names are those of the log.
export interface Facts {
  at: number
  actor?: string
  actor_kind?: string
  actor_id?: string
  as_user?: string
  as_groups?: string[]
  token_id?: string
  source?: string
  action: string
  verb?: string
  project_id?: string
  cluster_id?: string
  kind?: string
  namespace?: string
  name?: string
  result: string
  status?: number
  before?: string
  after?: string
  detail?: Record<string, string>
}

export interface Line {
  seq: bigint
  hash: string
  facts: Facts
  // As it was hashed.
  text: string
}

// lineOf opens a record; one that cannot be read is shown, not hidden.
export function lineOf(r: Pick<AuditRecord, 'seq' | 'hash' | 'record'>): Line {
  try {
    return { seq: r.seq, hash: r.hash, text: r.record, facts: JSON.parse(r.record) as Facts }
  } catch {
    return { seq: r.seq, hash: r.hash, text: r.record, facts: { at: 0, action: 'unreadable', result: 'unreadable' } }
  }
}

// verbOf is the call as people say it: "Services/Update", "kubernetes delete".
export function verbOf(f: Facts): string {
  if (f.action.startsWith('/')) return f.action.split('/').slice(-2).join('/').replace('axle.hub.v1.', '')
  return f.verb ? `${f.action} ${f.verb}` : f.action
}

export function objectOf(f: Facts): string {
  return [f.kind, f.namespace, f.name].filter(Boolean).join('/')
}

// tokenOf says which token an id is; the hub names those that still exist, and no login.
export function tokenOf(id: string, known: readonly Pick<Token, 'id' | 'name' | 'owner'>[] | undefined): string {
  const token = known?.find((t) => t.id === id)
  if (token) return `${token.name} of ${token.owner} (${id})`
  return known ? `${id}: a login, or a token that has ended` : id
}

// hrefOf is where the object can be seen, when it has a page.
export function hrefOf(f: Facts): string | undefined {
  if (!f.name) return undefined
  const name = f.name.split('/').map(encodeURIComponent)
  switch (f.kind) {
    case 'service':
      return name.length === 2 ? `/services/${name.join('/')}` : undefined
    case 'cluster':
      return `/clusters/${name.join('%2F')}`
    case 'repository':
      return `/repositories/${name.join('%2F')}`
    case 'global_service':
      return `/rollouts/${name.join('%2F')}`
    case 'managed_namespace':
      return `/managed-namespaces/${name.join('%2F')}`
    default:
      return undefined
  }
}

export interface Change {
  path: string
  before?: string
  after?: string
}

// changesOf is what differs between two specs, field by field.
export function changesOf(before: string | undefined, after: string | undefined): Change[] | undefined {
  let a: Map<string, string>
  let b: Map<string, string>
  try {
    a = before ? flat(JSON.parse(before)) : new Map()
    b = after ? flat(JSON.parse(after)) : new Map()
  } catch {
    return undefined
  }
  const out: Change[] = []
  for (const path of [...new Set([...a.keys(), ...b.keys()])].toSorted()) {
    const was = a.get(path)
    const is = b.get(path)
    if (was !== is) out.push({ path, ...(was === undefined ? {} : { before: was }), ...(is === undefined ? {} : { after: is }) })
  }
  return out
}

function flat(value: unknown, path = '', into = new Map<string, string>()): Map<string, string> {
  if (value !== null && typeof value === 'object') {
    const entries = Array.isArray(value) ? value.map((v, i) => [`[${i}]`, v] as const) : Object.entries(value).map(([k, v]) => [path ? `.${k}` : k, v] as const)
    if (entries.length === 0 && path) into.set(path, Array.isArray(value) ? '[]' : '{}')
    for (const [key, v] of entries) flat(v, path + key, into)
  } else into.set(path || '(all)', typeof value === 'string' ? value : JSON.stringify(value))
  return into
}
