import { wordsOf } from '../pairs'
import type { NotificationFilter, NotificationRouter } from '#/api/gen/hub/v1/notifications_pb'
import { nameProblem } from '#/api/names'
import { rules, words } from '#/api/rules'

export interface SinkForm {
  name: string
  type: string
  project: string
  url: string
  secret: string
  unsigned: boolean
  priority: string
  users: string
  groups: string
}

// Sink is what forms need of a sink.
export interface Sink {
  id: string
  name: string
  host: string
  settings?: { type: string; project: string; priority: string; users: string[]; groups: string[] }
}

// typeLabels are those of types that are called otherwise than their word: a service such as
// SLACK is Slack, and GOOGLE_CHAT Google Chat.
const typeLabels: Partial<Record<string, string>> = { TEAMS: 'Microsoft Teams', WEBHOOK: 'A URL that accepts JSON', PLURAL: 'Axle itself: the bell' }

export function typeText(type: string): string {
  return typeLabels[type] ?? type.split('_').map((w) => w.charAt(0) + w.slice(1).toLowerCase()).join(' ')
}

export const sinkTypes = words.sinkTypes.map((value) => ({ value, label: typeText(value) }))

export const emptySink: SinkForm = { name: '', type: 'SLACK', project: '', url: '', secret: '', unsigned: false, priority: 'MEDIUM', users: '', groups: '' }

export function sinkForm(s: Sink): SinkForm {
  return { ...emptySink, name: s.name, type: s.settings?.type ?? '', project: s.settings?.project ?? '', priority: s.settings?.priority || 'MEDIUM', users: s.settings?.users.join('\n') ?? '', groups: s.settings?.groups.join('\n') ?? '' }
}

export function sinkProblem(f: SinkForm, before?: { signed: boolean }): string | undefined {
  const name = before ? undefined : nameProblem(rules.name, f.name.trim())
  if (name) return name
  if (f.type === 'PLURAL') return wordsOf(f.users).length + lines(f.groups).length === 0 ? 'Users and groups: name at least one who sees it.' : undefined
  if (!before && !f.url) return 'URL: it is missing.'
  if (f.url && !/^https:\/\/[^\s/]+/.test(f.url) && !/^http:\/\/(127\.|localhost|\[::1\])/.test(f.url)) return "URL: https, or http to the hub's own machine."
  if (f.secret && new TextEncoder().encode(f.secret).length < 16) return 'Signing key: at least 16 bytes.'
  if (before?.signed && f.url && !f.secret && !f.unsigned) return 'Signing key: give it again, because the URL changes. The stored key never follows to another address.'
  return undefined
}

// lines are names that may contain spaces, such as groups.
export function lines(text: string): string[] {
  return text
    .split('\n')
    .map((l) => l.trim())
    .filter(Boolean)
}

export function sinkSettings(f: SinkForm) {
  const own = f.type === 'PLURAL'
  return { type: f.type, project: f.project, priority: own ? f.priority : '', users: own ? wordsOf(f.users) : [], groups: own ? lines(f.groups) : [] }
}

export interface RouterForm {
  name: string
  project: string
  events: string[]
  sinks: string[]
  filters: string
}

export const emptyRouter: RouterForm = { name: '', project: '', events: ['service.failed', 'service.recovered'], sinks: [], filters: '' }

type Filter = Pick<NotificationFilter, 'regex' | 'service' | 'cluster' | 'pipeline'>

// filterLine is a filter as the command line writes it.
export function filterLine(f: Filter): string {
  return (['service', 'cluster', 'pipeline', 'regex'] as const)
    .filter((k) => f[k])
    .map((k) => `${k}=${f[k]}`)
    .join(',')
}

export function routerForm(r: NotificationRouter): RouterForm {
  return { name: r.name, project: r.settings?.project ?? '', events: r.settings?.events ?? [], sinks: r.settings?.sinks ?? [], filters: r.settings?.filters.map(filterLine).join('\n') ?? '' }
}

// filtersOf reads filters, one a line: service=web,cluster=edge-1 or regex=/api$.
// What follows regex= is the expression, with its commas.
export function filtersOf(text: string): Filter[] | string {
  const out: Filter[] = []
  for (const line of lines(text)) {
    const filter: Filter = { regex: '', service: '', cluster: '', pipeline: '' }
    let rest = line
    while (rest) {
      const key = /^(regex|service|cluster|pipeline)=/.exec(rest)?.[1] as keyof Filter | undefined
      if (!key) return `"${rest}" is no filter; use service=NAME, cluster=NAME or regex=EXPRESSION.`
      const value = rest.slice(key.length + 1)
      const end = key === 'regex' ? -1 : value.indexOf(',')
      filter[key] = (end < 0 ? value : value.slice(0, end)).trim()
      if (!filter[key]) return `"${line}": ${key} is empty.`
      rest = end < 0 ? '' : value.slice(end + 1).trim()
    }
    out.push(filter)
  }
  return out
}

export function routerProblem(f: RouterForm, before?: NotificationRouter): string | undefined {
  const name = before ? undefined : nameProblem(rules.name, f.name.trim())
  if (name) return name
  if (f.events.length === 0) return 'Events: choose at least one.'
  if (f.sinks.length === 0) return 'Sinks: choose at least one.'
  const filters = filtersOf(f.filters)
  return typeof filters === 'string' ? `Filters: ${filters}` : undefined
}

export function routerSettings(f: RouterForm) {
  const filters = filtersOf(f.filters)
  return { project: f.project, events: f.events, sinks: f.sinks, filters: typeof filters === 'string' ? [] : filters }
}
