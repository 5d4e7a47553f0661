import { CORE_SCHEMA, YAMLException, dump, load } from 'js-yaml'
import { type Draft, type Json, type Schema, type Shape, choicesOf, isEmpty } from './schema'
import { pairsLines, pairsOf } from '#/pages/settings/pairs'

// draftOf is the draft of a value: of a new cluster, of its defaults.
export function draftOf(shape: Shape, value: Json | undefined = shape.schema.default): Draft {
  switch (shape.kind) {
    case 'text':
      return typeof value === 'string' ? value : ''
    case 'lines':
      return Array.isArray(value) ? value.map((v) => (typeof v === 'string' ? v : JSON.stringify(v))).join('\n') : ''
    case 'pairs':
      return objectOf(value) ? pairsLines(value as Record<string, string>) : ''
    case 'rows':
      return Array.isArray(value) ? value.map((row) => rowOf(shape, row)) : []
    case 'group':
      return rowOf(shape, value)
    case 'yaml':
      return value === undefined || isEmpty(value) ? '' : toYAML(value)
    default:
      return value === undefined ? '' : JSON.stringify(value)
  }
}

// rowOf is the draft of one row, or of a group; without a value that of a new one.
export function rowOf(shape: Shape, value: Json = {}): { [name: string]: Draft } {
  const have = objectOf(value) ?? {}
  return Object.fromEntries(shape.fields.map((f) => [f.name, draftOf(f, have[f.name] ?? f.schema.default)]))
}

function objectOf(value: Json | undefined): { [key: string]: Json } | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
}

export function toYAML(value: Json): string {
  return dump(value, { lineWidth: -1, noRefs: true }).trimEnd()
}

// Problems are what is wrong, by the path of a variable: nodePools.0.count.
export type Problems = Map<string, string>

export interface Read {
  // Every variable that has a value.
  values: { [name: string]: Json }
  // Those that are not the template's defaults: they are sent.
  given: { [name: string]: Json }
  problems: Problems
}

// readDraft reads what was typed.
export function readDraft(shapes: Shape[], draft: { [name: string]: Draft }): Read {
  const read: Read = { values: {}, given: {}, problems: new Map() }
  for (const shape of shapes) {
    const value = valueOf(shape, draft[shape.name] ?? '', shape.name, read.problems)
    if (value === undefined) continue
    read.values[shape.name] = value
    const given = withoutDefaults(shape, value)
    if (given !== undefined) read.given[shape.name] = given
  }
  return read
}

function valueOf(shape: Shape, draft: Draft, path: string, problems: Problems): Json | undefined {
  const wrong = (text: string) => void problems.set(path, text)
  const { schema } = shape
  if (shape.kind === 'rows') {
    const rows = Array.isArray(draft) ? draft : []
    const value = rows.map((row, i) => groupOf(shape, row, `${path}.${i}`, problems))
    counted(schema, value, wrong)
    return value.length === 0 && schema.default === undefined && !shape.required ? undefined : value
  }
  if (shape.kind === 'group') {
    const value = groupOf(shape, draft, path, problems)
    return isEmpty(value) && !shape.required ? undefined : value
  }
  const text = typeof draft === 'string' ? draft : ''
  if (text.trim() === '') {
    if (!shape.required || schema.default !== undefined) return undefined
    // Such as the value of a taint: a pattern admits that it is empty.
    if (shape.kind === 'text' && schema.pattern && !schema.minLength && matches(schema.pattern, '')) return ''
    wrong('is needed')
    return undefined
  }
  switch (shape.kind) {
    case 'text':
      return checkText(schema, text.trim(), wrong)
    case 'number':
      return checkNumber(schema, text, wrong)
    case 'choice':
      return choicesOf(shape).find((v) => JSON.stringify(v) === text)
    case 'lines': {
      const items = schema.items ?? {}
      const value = text.split('\n').map((l) => l.trim()).filter(Boolean).flatMap((l): Json[] => [items.type === 'string' ? checkText(items, l, wrong) : (checkNumber(items, l, wrong) ?? [])].flat())
      counted(schema, value, wrong)
      return value
    }
    case 'pairs': {
      const pairs = pairsOf(text)
      if (typeof pairs !== 'string') return pairs
      wrong(pairs)
      return undefined
    }
    default:
      return fromYAML(text, wrong)
  }
}

function groupOf(shape: Shape, draft: Draft, path: string, problems: Problems): { [name: string]: Json } {
  const have = typeof draft === 'string' || Array.isArray(draft) ? {} : draft
  const out: { [name: string]: Json } = {}
  for (const field of shape.fields) {
    const value = valueOf(field, have[field.name] ?? '', `${path}.${field.name}`, problems)
    if (value !== undefined) out[field.name] = value
  }
  return out
}

type Wrong = (text: string) => void

function counted(schema: Schema, value: Json[], wrong: Wrong): void {
  if (value.length < (schema.minItems ?? 0)) wrong(`needs at least ${schema.minItems}`)
  if (value.length > (schema.maxItems ?? Infinity)) wrong(`takes at most ${schema.maxItems}`)
}

function checkText(schema: Schema, text: string, wrong: Wrong): string {
  const length = [...text].length
  if (length < (schema.minLength ?? 0)) wrong(`needs at least ${schema.minLength} characters`)
  if (length > (schema.maxLength ?? Infinity)) wrong(`takes at most ${schema.maxLength} characters`)
  if (schema.pattern && !matches(schema.pattern, text)) wrong(`“${text}” does not match ${schema.pattern}`)
  return text
}

// A pattern that browsers do not know is left to the hub.
function matches(pattern: string, text: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(text)
  } catch {
    return true
  }
}

function checkNumber(schema: Schema, text: string, wrong: Wrong): number | undefined {
  const value = Number(text)
  if (!Number.isFinite(value) || (schema.type === 'integer' && !Number.isInteger(value))) {
    wrong(`“${text.trim()}” is not ${schema.type === 'integer' ? 'a whole number' : 'a number'}`)
    return undefined
  }
  if (value < (schema.minimum ?? -Infinity)) wrong(`is at least ${schema.minimum}`)
  if (value > (schema.maximum ?? Infinity)) wrong(`is at most ${schema.maximum}`)
  return value
}

function fromYAML(text: string, wrong: Wrong): Json | undefined {
  try {
    return load(text, { schema: CORE_SCHEMA }) as Json
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error
    wrong(`line ${(error.mark?.line ?? 0) + 1}: ${error.reason}`)
    return undefined
  }
}

// withoutDefaults is a value without what the hub fills in itself; undefined when that is all of it.
function withoutDefaults(shape: Shape, value: Json): Json | undefined {
  if (shape.schema.default !== undefined && same(value, complete(shape, shape.schema.default))) return undefined
  if (shape.kind === 'rows' && Array.isArray(value)) return value.map((row) => trimmed(shape, row))
  return shape.kind === 'group' ? trimmed(shape, value) : value
}

function trimmed(shape: Shape, value: Json): Json {
  const have = objectOf(value) ?? {}
  return Object.fromEntries(
    shape.fields.flatMap((f) => {
      const given = have[f.name] === undefined ? undefined : withoutDefaults(f, have[f.name]!)
      return given === undefined ? [] : [[f.name, given]]
    }),
  )
}

// complete is a value with the defaults of what is in it, as the hub completes it.
function complete(shape: Shape, value: Json): Json {
  const row = (of: Json) => {
    const have = objectOf(of) ?? {}
    return Object.fromEntries(shape.fields.flatMap((f) => {
      const inner = have[f.name] ?? f.schema.default
      return inner === undefined || (isEmpty(inner) && f.kind !== 'rows') ? [] : [[f.name, complete(f, inner)]]
    }))
  }
  if (shape.kind === 'rows' && Array.isArray(value)) return value.map(row)
  return shape.kind === 'group' ? row(value) : value
}

function same(a: Json, b: Json): boolean {
  const sorted = (_: string, v: unknown) => (typeof v === 'object' && v !== null && !Array.isArray(v) ? Object.fromEntries(Object.entries(v).toSorted(([x], [y]) => (x < y ? -1 : 1))) : v)
  return JSON.stringify(a, sorted) === JSON.stringify(b, sorted)
}

// problemAt is what is wrong with a field: with itself, or with a part that has no field of its own.
export function problemAt(problems: Problems, path: string, whole: boolean): string | undefined {
  return problems.get(path) ?? (whole ? [...problems].find(([at]) => at.startsWith(`${path}.`))?.[1] : undefined)
}
