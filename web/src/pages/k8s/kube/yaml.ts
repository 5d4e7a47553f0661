import { LineCounter, parseAllDocuments, stringify } from 'yaml'
import type { KubeObject } from './object'

// An object as people read and write it. managedFields are half of many objects
// and nobody edits them: they are left out unless asked for.
export function toYAML(object: KubeObject, managedFields = false): string {
  const { apiVersion, kind, metadata, status, ...rest } = object
  const { managedFields: fields, ...meta } = metadata
  const ordered = { apiVersion, kind, metadata: managedFields && fields ? { ...meta, managedFields: fields } : meta, ...rest, ...(status === undefined ? {} : { status }) }
  return stringify(ordered, { lineWidth: 0, aliasDuplicateObjects: false })
}

export interface YAMLMistake {
  message: string
  line: number
}

// fromYAML reads what a person wrote: exactly one object.
export function fromYAML(text: string): { object: KubeObject } | { mistake: YAMLMistake } {
  const lines = new LineCounter()
  const documents = parseAllDocuments(text, { lineCounter: lines, uniqueKeys: true })
  const all = Array.isArray(documents) ? documents : []
  const full = all.filter((d) => d.contents !== null)
  const wrong = all.flatMap((d) => d.errors)[0]
  if (wrong) return { mistake: { message: wrong.message.split('\n')[0]!.replace(/:$/, ''), line: wrong.linePos?.[0].line ?? 1 } }
  if (full.length !== 1) return { mistake: { message: full.length === 0 ? 'There is no object.' : `There are ${full.length} documents; an edit is about one object.`, line: full[1] ? lines.linePos(full[1].range?.[0] ?? 0).line : 1 } }
  const object: unknown = full[0]!.toJS({ maxAliasCount: 100 })
  if (typeof object !== 'object' || object === null || Array.isArray(object) || typeof (object as KubeObject).metadata !== 'object' || (object as KubeObject).metadata === null) return { mistake: { message: 'An object has apiVersion, kind and metadata.', line: 1 } }
  return { object: object as KubeObject }
}

// rebased puts a text onto another version of its object.
export function rebased(text: string, resourceVersion: string): string {
  return text.replace(/^( {2}resourceVersion: ).*$/m, `$1${JSON.stringify(resourceVersion)}`)
}
