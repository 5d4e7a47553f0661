import type { MessageInitShape } from '@bufbuild/protobuf'
import type { Repository, RepositoryCredentialsSchema, RepositoryOptionsSchema } from '#/api/gen/hub/v1/hub_pb'
import { nameProblem } from '#/api/names'
import { rules, words } from '#/api/rules'

export interface AuthField {
  id: keyof Omit<MessageInitShape<typeof RepositoryCredentialsSchema>, '$typeName' | '$unknown'>
  label: string
  secret?: boolean
  long?: boolean
  optional?: boolean
  hint?: string
}

export interface AuthKind {
  value: string
  label: string
  // What it can be used with.
  types: readonly string[]
  fields: AuthField[]
}

// How a repository is logged in to, and what each way needs.
export const authKinds: AuthKind[] = [
  { value: 'none', label: 'None: it is public', types: words.repositoryTypes, fields: [] },
  {
    value: 'basic',
    label: 'User and password',
    types: ['git', 'helm', 'oci'],
    fields: [
      { id: 'username', label: 'User' },
      { id: 'password', label: 'Password or token', secret: true },
    ],
  },
  { value: 'token', label: 'Access token', types: ['git'], fields: [{ id: 'password', label: 'Token', secret: true }] },
  { value: 'bearer', label: 'Bearer token', types: ['git', 'helm', 'oci'], fields: [{ id: 'password', label: 'Token', secret: true }] },
  {
    value: 'ssh',
    label: 'SSH key',
    types: ['git'],
    fields: [
      { id: 'privateKey', label: 'Private key', secret: true, long: true, hint: 'OpenSSH or PEM, with its begin and end lines.' },
      { id: 'passphrase', label: 'Passphrase', secret: true, optional: true },
      { id: 'knownHosts', label: 'Known hosts', long: true, hint: 'The output of ssh-keyscan for the host. Check it against the keys that the host publishes.' },
    ],
  },
  {
    value: 'app',
    label: 'GitHub App',
    types: ['git'],
    fields: [
      { id: 'appId', label: 'App id' },
      { id: 'installationId', label: 'Installation id', optional: true },
      { id: 'privateKey', label: 'Private key', secret: true, long: true },
    ],
  },
  {
    value: 'aws',
    label: 'AWS access key',
    types: ['oci', 'bucket', 'git'],
    fields: [
      { id: 'accessKeyId', label: 'Access key id' },
      { id: 'secretAccessKey', label: 'Secret access key', secret: true },
      { id: 'sessionToken', label: 'Session token', secret: true, optional: true },
      { id: 'assumeRoleArn', label: 'Role to assume', optional: true },
    ],
  },
  { value: 'gcp', label: 'Google service account', types: ['oci', 'bucket', 'git'], fields: [{ id: 'serviceAccountJson', label: 'Key of the service account', secret: true, long: true, hint: 'The JSON file.' }] },
  {
    value: 'azure',
    label: 'Azure application',
    types: ['oci', 'bucket', 'git'],
    fields: [
      { id: 'tenantId', label: 'Tenant id' },
      { id: 'clientId', label: 'Client id' },
      { id: 'clientSecret', label: 'Client secret', secret: true },
    ],
  },
]

export const verifyModes: Record<string, { value: string; label: string }[]> = {
  git: [
    { value: 'head', label: 'The commit is signed' },
    { value: 'tag', label: 'The tag is signed' },
  ],
  oci: [
    { value: 'cosign', label: 'A cosign signature' },
    { value: 'provenance', label: 'A provenance file (charts)' },
  ],
  helm: [{ value: 'provenance', label: 'A provenance file' }],
  bucket: [],
}

export interface RepositoryForm {
  name: string
  project: string
  type: string
  url: string
  auth: string
  // Credentials are typed anew, or kept.
  renew: boolean
  secrets: Record<string, string>
  proxy: string
  apiUrl: string
  region: string
  endpoint: string
  plainHttp: boolean
  passCredentials: boolean
  hubIdentity: boolean
  maxBytes: string
  verify: string
  keys: string
  caPem: string
}

export const emptyForm: RepositoryForm = { name: '', project: '', type: 'git', url: '', auth: 'none', renew: true, secrets: {}, proxy: '', apiUrl: '', region: '', endpoint: '', plainHttp: false, passCredentials: false, hubIdentity: false, maxBytes: '', verify: '', keys: '', caPem: '' }

export function formOf(r: Repository): RepositoryForm {
  const o = r.options
  return {
    ...emptyForm,
    name: r.name,
    project: r.project,
    type: r.type,
    url: r.url,
    auth: r.auth || 'none',
    renew: false,
    proxy: o?.proxy ?? '',
    apiUrl: o?.apiUrl ?? '',
    region: o?.region ?? '',
    endpoint: o?.endpoint ?? '',
    plainHttp: o?.plainHttp ?? false,
    passCredentials: o?.passCredentials ?? false,
    hubIdentity: o?.hubIdentity ?? false,
    maxBytes: o?.maxBytes ? String(o.maxBytes) : '',
    verify: o?.verify?.mode ?? '',
    keys: o?.verify?.keys.join('\n\n') ?? '',
  }
}

export function authOf(form: Pick<RepositoryForm, 'auth'>): AuthKind {
  return authKinds.find((k) => k.value === form.auth) ?? authKinds[0]!
}

// Where credentials are sent, and who can read them on the way. A change of any
// of these needs the credentials again: a secret never follows a changed address.
const addressed: { field: keyof RepositoryForm; label: string }[] = [
  { field: 'url', label: 'URL' },
  { field: 'proxy', label: 'proxy' },
  { field: 'apiUrl', label: 'API URL' },
  { field: 'region', label: 'region' },
  { field: 'endpoint', label: 'endpoint' },
  { field: 'plainHttp', label: 'plain http' },
  { field: 'passCredentials', label: 'passing credentials on' },
]

// movedBy names what changed so that stored credentials may not be used any more.
export function movedBy(before: RepositoryForm, after: RepositoryForm): string[] {
  if (before.auth === 'none') return []
  return addressed.filter(({ field }) => before[field] !== after[field]).map(({ label }) => label)
}

const schemes: Record<string, RegExp> = { git: /^(https?:\/\/|ssh:\/\/|git:\/\/|[\w.-]+@[\w.-]+:)/, helm: /^https?:\/\//, oci: /^oci:\/\//, bucket: /^(s3|gs|azblob|https?):\/\// }
const likely: Record<string, string> = { git: 'https://git.example.com/team/fleet.git or git@git.example.com:team/fleet.git', helm: 'https://charts.example.com', oci: 'oci://registry.example.com/charts', bucket: 's3://bucket/prefix, gs://bucket/prefix or azblob://container/prefix' }

export function exampleOf(type: string): string {
  return likely[type] ?? ''
}

// problemIn is what is wrong with the form, in words; the hub checks again.
export function problemIn(form: RepositoryForm, before?: RepositoryForm): string | undefined {
  const name = before ? undefined : nameProblem(rules.name, form.name)
  if (name) return name
  if (!form.url) return 'URL: it is missing.'
  if (!schemes[form.type]?.test(form.url)) return `URL: "${form.url}" is no URL of ${form.type}; use one such as ${likely[form.type]}.`
  if (/^[a-z]+:\/\/[^/@]*:[^/@]*@/.test(form.url)) return 'URL: it contains a password. Put user and password into their fields: the URL is shown to everybody who may read.'
  if (before && !form.renew && movedBy(before, form).length) return `Credentials: give them again, because the ${movedBy(before, form).join(', ')} changed.`
  if (form.renew && !form.hubIdentity) {
    const missing = authOf(form).fields.find((f) => !f.optional && !form.secrets[f.id]?.trim())
    if (missing) return `${missing.label}: it is missing.`
  }
  if (form.maxBytes && !/^\d{1,15}$/.test(form.maxBytes)) return 'Limit: a number of bytes, such as 5000000000.'
  if (form.verify && !form.keys.trim()) return 'Trusted keys: at least one, or verify nothing.'
  return undefined
}

export function optionsOf(form: RepositoryForm): MessageInitShape<typeof RepositoryOptionsSchema> {
  return {
    proxy: form.proxy.trim(),
    apiUrl: form.apiUrl.trim(),
    region: form.region.trim(),
    endpoint: form.endpoint.trim(),
    plainHttp: form.plainHttp,
    passCredentials: form.passCredentials,
    hubIdentity: form.hubIdentity,
    maxBytes: BigInt(form.maxBytes || 0),
    ...(form.verify ? { verify: { mode: form.verify, keys: keysOf(form.keys) } } : {}),
  }
}

// keysOf splits trusted keys: armoured blocks, or one on each line.
export function keysOf(text: string): string[] {
  const blocks = text.match(/-----BEGIN [^-]+-----[\s\S]*?-----END [^-]+-----/g)
  return blocks ?? text.split('\n').map((l) => l.trim()).filter(Boolean)
}

export function credentialsOf(form: RepositoryForm): MessageInitShape<typeof RepositoryCredentialsSchema> {
  const out: Record<string, string> = {}
  for (const field of authOf(form).fields) {
    const value = form.secrets[field.id]
    if (value) out[field.id] = field.long ? `${value.trimEnd()}\n` : value
  }
  if (form.caPem.trim()) out['caPem'] = form.caPem
  return out
}
