import type { ApplicationSettings } from '#/api/gen/hub/v1/application_pb'

// Form is an application as it is typed: lists are lines.
export interface Form {
  name: string
  project: string
  title: string
  redirectUris: string
  users: string
  groups: string
  cluster: string
  namespace: string
  backChannelLogoutUri: string
  public: boolean
  secondFactor: boolean
}

export const emptyForm: Form = { name: '', project: 'default', title: '', redirectUris: '', users: '', groups: '', cluster: '', namespace: '', backChannelLogoutUri: '', public: false, secondFactor: false }

// formOf is an application for the form; what the form does not show stays.
export function formOf(name: string, s: ApplicationSettings): Form {
  return {
    name, project: s.project, title: s.title, redirectUris: s.redirectUris.join('\n'), users: s.users.join('\n'), groups: s.groups.join('\n'), cluster: s.cluster,
    namespace: s.namespace, backChannelLogoutUri: s.backChannelLogoutUri, public: s.public, secondFactor: s.secondFactor,
  }
}

export function lines(text: string): string[] {
  return [...new Set(text.split(/[\n,]/).map((one) => one.trim()).filter(Boolean))]
}

export function settingsOf(f: Form): Omit<Partial<ApplicationSettings>, '$typeName' | '$unknown'> {
  const { name: _, ...rest } = f
  return { ...rest, title: f.title.trim(), redirectUris: lines(f.redirectUris), users: lines(f.users), groups: lines(f.groups), namespace: f.cluster ? f.namespace.trim() : '', backChannelLogoutUri: f.backChannelLogoutUri.trim() }
}

// problemIn is what is wrong before the hub is asked, which checks the rest.
export function problemIn(f: Form): string | undefined {
  if (!f.name.trim()) return 'The application needs a name.'
  if (lines(f.redirectUris).length === 0) return 'Give at least one redirect URI: where people return after the login, as the application calls it.'
  if (f.cluster && !f.namespace.trim()) return 'The Secret needs a namespace on the cluster.'
  return undefined
}
