import { type Search, textOf } from '#/app/search'
import { nameOf } from '#/app/views/name'

// A filter of a list that reads as a part of a sentence and lives in the URL.
export interface FilterField {
  // The parameter of the URL.
  id: string
  // What it is called where it is chosen: "Actor".
  label: string
  // The words before the value: "actor is".
  words: string
  // The only values, where there are few.
  options?: { value: string; label: string }[]
  placeholder?: string
  // Above the field.
  hint?: string
  // What is wrong with a value, in words.
  check?: (value: string) => string | undefined
}

export type FilterValues = Record<string, string>

// filtersOf reads the filters that a list knows from the URL.
export function filtersOf(search: Search, fields: FilterField[]): FilterValues {
  const out: FilterValues = {}
  for (const f of fields) {
    const value = textOf(search[f.id]).trim()
    if (value) out[f.id] = value
  }
  return out
}

// withFilters puts them into the URL; other parameters stay, and what says
// where in the list one was goes.
export function withFilters(search: Search, fields: FilterField[], values: FilterValues, gone: string[] = []): Search {
  const out: Search = { ...search }
  for (const f of fields) {
    const value = values[f.id]?.trim()
    if (value) out[f.id] = value
    else delete out[f.id]
  }
  for (const g of gone) delete out[g]
  return out
}

// sentenceOf is what the filters say: "actor is ann and result is forbidden".
export function sentenceOf(fields: FilterField[], values: FilterValues): string {
  return fields
    .filter((f) => values[f.id])
    .map((f) => `${f.words} ${valueLabel(f, values[f.id]!)}`)
    .join(' and ')
}

// viewNameOf is a name for what is listed with them: "Events of edge-1 since 24h".
export function viewNameOf(noun: string, fields: FilterField[], values: FilterValues): string {
  const { cluster, ...rest } = values
  // "since 24h" is no clause, "actor is ann" is.
  const clause = (f: FilterField) => f.words.includes(' ')
  const say = (some: FilterField[]) => some.filter((f) => rest[f.id]).map((f) => sentenceOf([f], rest))
  return nameOf({ noun, of: cluster ? [cluster] : [], more: say(fields.filter((f) => !clause(f))), where: say(fields.filter(clause)) })
}

export function valueLabel(field: FilterField, value: string): string {
  return field.options?.find((o) => o.value === value)?.label ?? value
}

const units: Record<string, number> = { m: 60, h: 3_600, d: 86_400, w: 604_800 }

// sinceMicros reads "24h", "7d" or a time such as 2026-11-20 or 2026-11-20T10:00
// (UTC where no zone is said) as microseconds since 1970; undefined is neither.
export function sinceMicros(text: string, now: number): bigint | undefined {
  const ago = /^(\d{1,5})\s*([mhdw])$/.exec(text.trim())
  if (ago) return BigInt(Math.round(now - Number(ago[1]) * units[ago[2]!]! * 1_000)) * 1_000n
  if (!/^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:?\d\d)?)?$/.test(text.trim())) return undefined
  const zoned = text.trim().replace(' ', 'T')
  const at = Date.parse(zoned.length > 10 && !/(Z|[+-]\d\d:?\d\d)$/.test(zoned) ? `${zoned}Z` : zoned)
  return Number.isNaN(at) ? undefined : BigInt(at) * 1_000n
}

export function checkTime(text: string): string | undefined {
  return sinceMicros(text, 0) === undefined ? `"${text}" is no time: use 24h, 7d, 2026-11-20 or 2026-11-20T10:00` : undefined
}
