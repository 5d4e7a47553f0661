import { type Search, listOf, textOf } from '#/app/search'
import { type Words, nameOf } from '#/app/views/name'
import { labelOf } from '#/status/words'

// A filter is text and values of fields: any value of a field, all fields. A
// value that begins with "!" excludes.
export interface Filter {
  text: string
  values: Readonly<Record<string, readonly string[]>>
}

export interface Field {
  // Of the hub's filter, and in the URL.
  id: string
  label: string
  // Its values are status words.
  status?: boolean
  // Always has a chip; others appear under "Filter".
  main?: boolean
  // Where its values are in a sentence, when not in a clause: "failed services of prod-eu".
  says?: 'are' | 'of'
}

export const noFilter: Filter = { text: '', values: {} }

export function filterOf(search: Search, fields: readonly Field[]): Filter {
  const values: Record<string, string[]> = {}
  for (const { id } of fields) {
    const list = [...new Set(listOf(search[id]).filter((v) => v !== '' && v !== '!'))]
    if (list.length) values[id] = list
  }
  return { text: textOf(search['q']).trim(), values }
}

// searchOf is the filter as parameters; a field without values is undefined, so
// that it replaces what was there.
export function searchOf(filter: Filter, fields: readonly Field[]): Search {
  const search: Search = { q: filter.text || undefined }
  for (const { id } of fields) {
    const list = filter.values[id]
    search[id] = list?.length ? (list.length === 1 ? list[0] : [...list]) : undefined
  }
  return search
}

export function isFiltered(filter: Filter): boolean {
  return filter.text !== '' || Object.values(filter.values).some((v) => v.length > 0)
}

// withValue turns a value on or off; on the other way round it replaces it.
export function withValue(filter: Filter, field: string, value: string, on: boolean): Filter {
  const opposite = value.startsWith('!') ? value.slice(1) : `!${value}`
  const rest = (filter.values[field] ?? []).filter((v) => v !== value && v !== opposite)
  return { ...filter, values: { ...filter.values, [field]: on ? [...rest, value] : rest } }
}

export function has(filter: Filter, field: string, value: string): boolean {
  return filter.values[field]?.includes(value) ?? false
}

// Clause is one part of the sentence that a filter is.
export interface Clause {
  field: string
  words: string
}

export function sentenceOf(filter: Filter, fields: readonly Field[]): Clause[] {
  const clauses: Clause[] = []
  for (const { id, label, status } of fields) {
    const list = filter.values[id] ?? []
    if (!list.length) continue
    const say = (v: string) => (status ? labelOf(v) : v)
    const not = list.filter((v) => v.startsWith('!')).map((v) => say(v.slice(1)))
    const yes = list.filter((v) => !v.startsWith('!')).map(say)
    const parts = [yes.length ? `is ${yes.join(' or ')}` : '', not.length ? `is not ${not.join(' or ')}` : ''].filter(Boolean)
    clauses.push({ field: id, words: `${label.toLowerCase()} ${parts.join(' and ')}` })
  }
  if (filter.text) clauses.push({ field: 'q', words: `name has “${filter.text}”` })
  return clauses
}

// viewNameOf is a name for what is listed with a filter: "Failed services of prod-eu".
export function viewNameOf(noun: string, filter: Filter, fields: readonly Field[], { of, by }: { of?: string | undefined; by?: string | undefined } = {}): string {
  const words: Required<Pick<Words, 'are' | 'of'>> = { are: [], of: of === undefined ? [] : [of] }
  const values = { ...filter.values }
  for (const { id, says, status } of fields) {
    const list = (values[id] ?? []).map((v) => (status ? labelOf(v) : v))
    // "Needs you" is no word before a noun, and neither is what is excluded.
    if (!says || list.length === 0 || list.some((v) => /^!|\s/.test(v))) continue
    words[says].push(list.join(' or '))
    values[id] = []
  }
  const more = by && !isFiltered(filter) ? [`by ${by.toLowerCase()}`] : []
  return nameOf({ noun, ...words, more, where: sentenceOf({ ...filter, values }, fields).map((c) => c.words) })
}

export function without(filter: Filter, field: string): Filter {
  return field === 'q' ? { ...filter, text: '' } : { ...filter, values: { ...filter.values, [field]: [] } }
}

// allows says whether a row's value passes the values of one field.
export function allows(values: readonly string[] | undefined, value: string): boolean {
  if (!values?.length) return true
  const yes = values.filter((v) => !v.startsWith('!'))
  return !values.includes(`!${value}`) && (yes.length === 0 || yes.includes(value))
}
