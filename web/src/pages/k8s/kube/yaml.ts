import { CORE_SCHEMA, YAMLException, dump, loadAll } from 'js-yaml'
import type { KubeObject } from './object'

// An object as people read and write it. managedFields are half of many objects
// and nobody edits them: they are left out unless asked for. Text that YAML 1.1
// takes for something else, such as "yes", is quoted: API servers read YAML 1.1.
export function toYAML(object: KubeObject, managedFields = false): string {
  const { apiVersion, kind, metadata, status, ...rest } = object
  const { managedFields: fields, ...meta } = metadata
  const ordered = { apiVersion, kind, metadata: managedFields && fields ? { ...meta, managedFields: fields } : meta, ...rest, ...(status === undefined ? {} : { status }) }
  return dump(ordered, { lineWidth: -1, noRefs: true })
}

export interface YAMLMistake {
  message: string
  line: number
}

// fromYAML reads what a person wrote: exactly one object.
export function fromYAML(text: string): { object: KubeObject } | { mistake: YAMLMistake } {
  let all: unknown[]
  try {
    all = loadAll(text, { schema: CORE_SCHEMA }).filter((d) => d !== null && d !== undefined)
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error
    return { mistake: { message: error.reason, line: (error.mark?.line ?? 0) + 1 } }
  }
  if (all.length !== 1) return { mistake: { message: all.length === 0 ? 'There is no object.' : `There are ${all.length} documents; an edit is about one object.`, line: all.length === 0 ? 1 : text.split('\n').findIndex((l, i) => i > 0 && l.startsWith('---')) + 1 } }
  const [object] = all
  if (typeof object !== 'object' || object === null || Array.isArray(object) || typeof (object as KubeObject).metadata !== 'object' || (object as KubeObject).metadata === null) return { mistake: { message: 'An object has apiVersion, kind and metadata.', line: 1 } }
  return { object: object as KubeObject }
}

// rebased puts a text onto another version of its object.
export function rebased(text: string, resourceVersion: string): string {
  return text.replace(/^( {2}resourceVersion: ).*$/m, `$1${JSON.stringify(resourceVersion)}`)
}
