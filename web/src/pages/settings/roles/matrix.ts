import type { Binding, Place } from '#/api/gen/hub/v1/access_pb'
import { serviceName } from '#/api/names'
import { words } from '#/api/rules'

export const actions = words.actions
export type Action = (typeof actions)[number]

export const gives: Record<Action, string> = {
  read: 'lists, details, live objects of clusters',
  write: 'changes; includes read and create',
  create: 'new clusters, services, contexts',
  git: 'repositories and webhooks',
}

// What an action brings with it.
const implied: Partial<Record<Action, Action>> = { read: 'write', create: 'write' }

export interface Grant {
  // subject and place as one text.
  id: string
  subjectKind: string
  subject: string
  level: string
  object: string
  bindings: Map<Action, Binding>
}

type Row = Pick<Binding, 'id' | 'subjectKind' | 'subject' | 'action' | 'level' | 'object'>

const levels = ['hub', 'project', 'cluster', 'service']

// grantsOf puts the bindings of a subject at a place into one row.
export function grantsOf(bindings: Binding[]): Grant[] {
  const rows = new Map<string, Grant>()
  for (const b of bindings) {
    const id = [b.subjectKind, b.subject, b.level, b.object].join('\n')
    const row = rows.get(id) ?? { id, subjectKind: b.subjectKind, subject: b.subject, level: b.level, object: b.object, bindings: new Map<Action, Binding>() }
    rows.set(id, row)
    row.bindings.set(b.action as Action, b)
  }
  return [...rows.values()].toSorted((a, b) => levels.indexOf(a.level) - levels.indexOf(b.level) || a.object.localeCompare(b.object) || a.subjectKind.localeCompare(b.subjectKind) || a.subject.localeCompare(b.subject))
}

// cellOf says whether a row gives an action: by a binding of its own, by what
// another one includes, or not.
export function cellOf(grant: Pick<Grant, 'bindings'>, action: Action): 'yes' | 'implied' | 'no' {
  if (grant.bindings.has(action)) return 'yes'
  const by = implied[action]
  return by && grant.bindings.has(by) ? 'implied' : 'no'
}

// changeOf is what to create and to delete so that a row has these actions.
export function changeOf(had: Iterable<Action>, wanted: Iterable<Action>): { create: Action[]; remove: Action[] } {
  const before = new Set(had)
  const after = new Set(wanted)
  return { create: actions.filter((a) => after.has(a) && !before.has(a)), remove: actions.filter((a) => before.has(a) && !after.has(a)) }
}

// lossOf says what a subject can no longer do at the place when actions go, also
// by what they included, unless what stays includes it too.
export function lossOf(had: Iterable<Action>, wanted: Iterable<Action>): Action[] {
  const effective = (of: Iterable<Action>) => {
    const direct = new Set(of)
    return new Set(actions.filter((a) => direct.has(a) || (implied[a] && direct.has(implied[a]))))
  }
  const after = effective(wanted)
  return [...effective(had)].filter((a) => !after.has(a))
}

export function placeText(row: Pick<Row, 'level' | 'object'>): string {
  return row.level === 'hub' ? 'the whole hub' : `${row.level} ${row.object}`
}

// placeOf is a place as calls want it.
export function placeOf(level: string, object: string): Partial<Pick<Place, 'project' | 'cluster' | 'service'>> {
  switch (level) {
    case 'project':
      return { project: object }
    case 'cluster':
      return { cluster: object }
    case 'service': {
      const cut = object.indexOf('/')
      return { cluster: object.slice(0, cut), service: object.slice(cut + 1) }
    }
    default:
      return {}
  }
}

// checkPlace says what is wrong with the object of a level.
export function checkPlace(level: string, object: string): string | undefined {
  if (level === 'hub') return undefined
  if (!object.trim()) return `Place: name the ${level}.`
  if (level === 'service' && !serviceName.test(object)) return 'Place: a service is CLUSTER/NAME, such as edge-1/web.'
  return undefined
}

export function subjectText(row: Pick<Row, 'subjectKind' | 'subject'>): string {
  return row.subjectKind === 'user' ? row.subject : `${row.subjectKind.replace('_', ' ')} ${row.subject}`
}
