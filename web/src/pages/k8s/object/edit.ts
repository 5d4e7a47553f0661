import { type Place, type Written, write } from '../kube/calls'
import type { KubeObject } from '../kube/object'
import { type YAMLMistake, fromYAML, toYAML } from '../kube/yaml'

export interface Checked {
  before: string
  after: string
  warnings: string[]
  object: KubeObject
}

export class Mistake extends Error {
  constructor(readonly mistake: YAMLMistake) {
    super(`Line ${mistake.line}: ${mistake.message}`)
  }
}

// put sends what a person wrote. It replaces the version that they began with:
// when somebody else was faster, the API server says so.
export async function put(place: Place, base: KubeObject, text: string, dryRun: boolean): Promise<Checked> {
  const read = fromYAML(text)
  if ('mistake' in read) throw new Mistake(read.mistake)
  const { object, warnings }: Written = await write(place, base.metadata.name, { verb: 'update', object: text, dryRun })
  // What the server itself counts up is no change of the person's.
  return { before: toYAML(without(base)), after: toYAML(without(object)), warnings, object }
}

function without(o: KubeObject): KubeObject {
  const { resourceVersion: _, generation: __, ...metadata } = o.metadata
  return { ...o, metadata }
}
