import { pairsLines, pairsOf, wordsOf } from '../pairs'
import type { Provider } from '#/api/gen/hub/v1/login_pb'
import { nameProblem } from '#/api/names'
import { rules } from '#/api/rules'

export interface ProviderForm {
  name: string
  title: string
  issuer: string
  clientId: string
  secret: string
  // The stored secret is replaced.
  renew: boolean
  scopes: string
  groupsClaim: string
  groups: string
  emailDomains: string
  allowUnverified: boolean
  caPem: string
}

export const emptyProvider: ProviderForm = { name: '', title: '', issuer: '', clientId: '', secret: '', renew: true, scopes: 'email profile', groupsClaim: '', groups: '', emailDomains: '', allowUnverified: false, caPem: '' }

export function formOf(p: Provider): ProviderForm {
  return { name: p.name, title: p.title, issuer: p.issuer, clientId: p.clientId, secret: '', renew: false, scopes: p.scopes.join(' '), groupsClaim: p.groupsClaim, groups: pairsLines(p.groups), emailDomains: p.emailDomains.join(' '), allowUnverified: p.allowUnverified, caPem: p.caPem }
}

export function problemIn(f: ProviderForm): string | undefined {
  const name = nameProblem(rules.loginProvider, f.name)
  if (name) return name
  if (!/^https?:\/\/[^\s?#]+$/.test(f.issuer)) return 'Issuer: a URL such as https://example.okta.com, without /.well-known/….'
  if (/\/\.well-known\//.test(f.issuer)) return 'Issuer: leave out /.well-known/openid-configuration; the hub adds it.'
  if (!f.clientId.trim()) return 'Client id: it is missing.'
  const groups = pairsOf(f.groups)
  if (typeof groups === 'string') return `Groups: ${groups}`
  if (Object.keys(groups).length > 0 && !f.groupsClaim.trim()) return 'Groups claim: name the claim that holds the groups, or leave the map empty.'
  return undefined
}

// valuesOf are the fields as the hub takes them.
export function valuesOf(f: ProviderForm) {
  const groups = pairsOf(f.groups)
  return {
    name: f.name,
    title: f.title.trim(),
    clientId: f.clientId.trim(),
    scopes: wordsOf(f.scopes).filter((s) => s !== 'openid'),
    groupsClaim: f.groupsClaim.trim(),
    groups: typeof groups === 'string' ? {} : groups,
    emailDomains: wordsOf(f.emailDomains),
    allowUnverified: f.allowUnverified,
    caPem: f.caPem,
  }
}

const fields: [keyof ReturnType<typeof valuesOf>, string][] = [
  ['title', 'title'],
  ['clientId', 'client_id'],
  ['scopes', 'scopes'],
  ['groupsClaim', 'groups_claim'],
  ['groups', 'groups'],
  ['emailDomains', 'email_domains'],
  ['allowUnverified', 'allow_unverified'],
  ['caPem', 'ca_pem'],
]

// changedIn names the fields that an update sets: only those that differ.
export function changedIn(before: ProviderForm, after: ProviderForm): string[] {
  const a = valuesOf(before)
  const b = valuesOf(after)
  return fields.filter(([key]) => JSON.stringify(a[key]) !== JSON.stringify(b[key])).map(([, name]) => name)
}
