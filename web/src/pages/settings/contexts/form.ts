import type { Context } from '#/api/gen/hub/v1/hub_pb'
import { nameProblem } from '#/api/names'
import { rules } from '#/api/rules'

export interface SecretRow {
  key: string
  value: string
  // It is stored at the hub; its value is never read.
  stored: boolean
  // Removed, or replaced by what is typed.
  state: 'keep' | 'replace' | 'remove'
}

export interface ContextForm {
  name: string
  project: string
  values: string
  secrets: SecretRow[]
}

export const emptyContext: ContextForm = { name: '', project: '', values: '{\n  \n}', secrets: [] }

export function formOf(c: Context): ContextForm {
  return { name: c.name, project: c.project, values: pretty(c.values), secrets: Object.keys(c.secrets).toSorted().map((key) => ({ key, value: '', stored: true, state: 'keep' })) }
}

function pretty(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json || '{}'), null, 2)
  } catch {
    return json
  }
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text.trim() || '{}')
    return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

export function problemIn(f: ContextForm, fresh: boolean): string | undefined {
  const name = fresh ? nameProblem(rules.valueSet, f.name.trim()) : undefined
  if (name) return name
  const values = parse(f.values)
  if (!values) return 'Values: must be a JSON object, such as {"region": "eu-1"}.'
  const seen = new Set(Object.keys(values))
  for (const s of f.secrets.filter((s) => s.state !== 'remove')) {
    if (!s.key.trim()) return 'Secrets: a key is missing.'
    if (seen.has(s.key.trim())) return `Secrets: "${s.key.trim()}" is there twice, or is a value too.`
    seen.add(s.key.trim())
    if (s.state === 'replace' && s.value === '') return `Secrets: the value of "${s.key.trim()}" is missing.`
  }
  return undefined
}

// changeOf is what an update sends: values that differ, secrets that are typed,
// and the keys that are gone. Secrets that are kept are not named at all.
export function changeOf(before: ContextForm, after: ContextForm): { values: string; secrets: Record<string, string>; unset: string[] } {
  const was = parse(before.values) ?? {}
  const is = parse(after.values) ?? {}
  const values = Object.fromEntries(Object.entries(is).filter(([k, v]) => JSON.stringify(was[k]) !== JSON.stringify(v)))
  const secrets = Object.fromEntries(after.secrets.filter((s) => s.state === 'replace').map((s) => [s.key.trim(), s.value]))
  const unset = [...Object.keys(was).filter((k) => !(k in is) && !(k in secrets)), ...after.secrets.filter((s) => s.stored && s.state === 'remove' && !(s.key in is)).map((s) => s.key)]
  return { values: JSON.stringify(values), secrets, unset }
}
