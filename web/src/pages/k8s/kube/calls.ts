import type { MessageInitShape } from '@bufbuild/protobuf'
import { type GVR, noNamespace } from './gvr'
import { type KubeObject, decode } from './object'
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

// getObject reads one object. Of a Secret the hub sends the sizes of the values, and
// the value of the one key that a person reveals.
export async function getObject(place: Place, name: string, signal?: AbortSignal, reveal = ''): Promise<KubeObject> {
  const { json } = await unary(ClusterAPI.method.listObjects, { objects: objectsOf(place), name, reveal }, signal)
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
  const items = (list.items ?? []).map((o) => ({ ...o, apiVersion: o.apiVersion ?? list.apiVersion, kind: o.kind ?? list.kind.replace(/List$/, '') }))
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
