import type { Scope } from '../keys'
import type { Group } from '../navigation'
import type { View } from '../views/views'

export interface Entry {
  id: string
  group: string
  label: string
  keys?: string
  to?: string
  run?: () => void
}

const settings = ['profile', 'tokens', 'users', 'groups', 'service-accounts', 'roles', 'auth', 'applications', 'notifications', 'webhooks', 'about']

// localEntries are the ones that need no hub: pages, recent clusters, saved
// views, and the actions of the page below, by all words of the query.
export function localEntries(query: string, navigation: Group[], scopes: Scope[], recent: string[], views: View[]): Entry[] {
  const commands = query.startsWith('>')
  const text = (commands ? query.slice(1) : query).trim().toLowerCase()
  if (/^[csrp]:/.test(text)) return []
  const words = text.split(/\s+/).filter(Boolean)
  const matches = (e: Entry) => words.every((w) => e.label.toLowerCase().includes(w))
  const actions: Entry[] = scopes
    .filter((s) => s.name !== 'Everywhere' && s.name !== 'Tabs')
    .flatMap((s) => s.bindings.filter((b) => !b.quiet).map((b) => ({ id: `do ${s.name} ${b.keys}`, group: s.name, label: b.does, keys: b.keys, run: () => b.run(new KeyboardEvent('keydown')) })))
  if (commands) return actions.filter(matches)
  const pages: Entry[] = [
    ...navigation.flatMap((g) => g.entries).map((e) => ({ id: `go ${e.to}`, group: 'Go to', label: e.label, to: e.to, keys: `g ${e.key}` })),
    { id: 'go new', group: 'Go to', label: 'Add a cluster', to: '/clusters/new' },
    ...(words.length ? settings.map((s) => ({ id: `go ${s}`, group: 'Go to', label: `Settings: ${s.replace('-', ' ')}`, to: `/settings/${s}` })) : []),
  ]
  const visited: Entry[] = recent.map((name) => ({ id: `recent ${name}`, group: 'Recent clusters', label: name, to: `/clusters/${encodeURIComponent(name)}` }))
  const saved: Entry[] = views.map((v) => ({ id: `view ${v.name}`, group: 'Views', label: v.name, to: v.path + v.search }))
  if (words.length === 0) return [...visited.slice(0, 5), ...saved, ...pages]
  return [...pages, ...saved, ...actions].filter(matches)
}

// pastedPath turns a pasted address of this console into a path.
export function pastedPath(query: string, origin: string): string | undefined {
  if (query.startsWith(`${origin}/`)) return query.slice(origin.length)
  return /^\/[a-z]/.test(query) ? query : undefined
}
