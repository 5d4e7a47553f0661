import type { MessageInitShape } from '@bufbuild/protobuf'
import { type GVR, noNamespace } from './gvr'
import { type KubeObject, decode } from './object'
import { maskSecret } from './secret'
import { unary } from '#/api/call'
import { ClusterAPI, type ClusterObjectsSchema } from '#/api/gen/hub/v1/proxy_pb'

export interface Place {
  cluster: string
  gvr: GVR
  namespace?: string | undefined
}

export function objectsOf({ cluster, gvr, namespace = '' }: Place, more: { labelSelector?: string; fieldSelector?: string } = {}): MessageInitShape<typeof ClusterObjectsSchema> {
  return { cluster, group: gvr.group, version: gvr.version, resource: gvr.resource, namespace: namespace === noNamespace ? '' : namespace, ...more }
}

// getObject reads one object. The values of a Secret end here.
export async function getObject(place: Place, name: string, signal?: AbortSignal): Promise<KubeObject> {
  return maskSecret(await getRaw(place, name, signal))
}

// getRaw has a Secret's values: for one that a person reveals, and for a write
// that keeps the others.
export async function getRaw(place: Place, name: string, signal?: AbortSignal): Promise<KubeObject> {
  const { json } = await unary(ClusterAPI.method.listObjects, { objects: objectsOf(place), name }, signal)
  return decode(json)
}

export interface ObjectList {
  items: KubeObject[]
  more: string
}

// listObjects reads whole objects, for the few of something.
export async function listObjects(place: Place, options: { labelSelector?: string; fieldSelector?: string; limit?: number }, signal?: AbortSignal): Promise<ObjectList> {
  const { limit = 500, ...selectors } = options
  const answer = await unary(ClusterAPI.method.listObjects, { objects: objectsOf(place, selectors), limit: BigInt(limit) }, signal)
  const list = decode<{ kind: string; apiVersion: string; items?: KubeObject[] }>(answer.json)
  const items = (list.items ?? []).map((o) => maskSecret({ ...o, apiVersion: o.apiVersion ?? list.apiVersion, kind: o.kind ?? list.kind.replace(/List$/, '') }))
  return { items, more: answer.continue }
}

export interface Change {
  verb: 'create' | 'update' | 'apply' | 'patch' | 'delete'
  // YAML or JSON; a JSON merge patch for patch.
  object?: string
  subresource?: 'scale' | 'status'
  dryRun?: boolean
  force?: boolean
}

export interface Written {
  object: KubeObject
  warnings: string[]
}

export async function write(place: Place, name: string, input: Change, signal?: AbortSignal): Promise<Written> {
  const { json, warnings } = await unary(ClusterAPI.method.writeObject, { objects: objectsOf(place), name, ...input }, signal)
  return { object: json.length ? decode(json) : ({} as KubeObject), warnings }
}
