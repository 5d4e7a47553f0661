import { type Place, type Written, getRaw, write } from '../kube/calls'
import type { KubeObject } from '../kube/object'
import { isSecret, maskChanges, maskSecret, unmask } from '../kube/secret'
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
// when somebody else was faster, the API server says so. A Secret's masked values
// are those of the cluster, and no answer keeps one.
export async function put(place: Place, base: KubeObject, text: string, dryRun: boolean): Promise<Checked> {
  const read = fromYAML(text)
  if ('mistake' in read) throw new Mistake(read.mistake)
  const { name } = base.metadata
  const secret = isSecret(base)
  const live = secret ? await getRaw(place, name) : undefined
  const object = live ? toYAML(unmask(read.object, live), true) : text
  const { object: answer, warnings }: Written = await write(place, name, { verb: 'update', object, dryRun })
  const after = live ? maskChanges(answer, live) : answer
  // What the server itself counts up is no change of the person's.
  return { before: toYAML(without(live ? maskSecret(live) : base)), after: toYAML(without(after)), warnings, object: maskSecret(answer) }
}

function without(o: KubeObject): KubeObject {
  const { resourceVersion: _, generation: __, ...metadata } = o.metadata
  return { ...o, metadata }
}
