import type { Component, TreeNode } from '#/api/gen/hub/v1/hub_pb'
import { objectPath } from '#/pages/k8s/kube/gvr'
import { resourceOf } from '#/pages/k8s/kube/kinds'

// Line is one row of the component tree as it is shown.
export interface Line {
  key: string
  level: number
  object: Component
  createdAt: bigint
  failing: boolean
  children: number
  // Unset without children.
  open: boolean | undefined
}

export type Node = Pick<TreeNode, 'object' | 'createdAt' | 'failing' | 'children'>

// So many rows are drawn; the filter narrows down to the rest.
export const maxLines = 5_000

// linesOf flattens the tree. Open are the nodes that somebody opened or closed;
// by itself only the way to what fails is open. A filter opens what it finds.
export function linesOf(nodes: readonly Node[], chosen: ReadonlyMap<string, boolean>, filter: string, problems: boolean): Line[] {
  const filtered = filter.trim() !== '' || problems
  const lines: Line[] = []
  const wants = filterOf(filter, problems)
  const keeps = (n: Node): boolean => (n.object !== undefined && wants(n.object)) || n.children.some(keeps)
  const walk = (list: readonly Node[], level: number, above: string) => {
    for (const n of list.toSorted((a, b) => order(a) - order(b))) {
      if (!n.object || !keeps(n)) continue
      const key = `${above}/${keyOf(n.object)}`
      const open = n.children.length === 0 ? undefined : (chosen.get(key) ?? (n.failing || filtered))
      lines.push({ key, level, object: n.object, createdAt: n.createdAt, failing: n.failing, children: n.children.length, open })
      if (open) walk(n.children, level + 1, key)
    }
  }
  walk(nodes, 1, '')
  return lines
}

// filterOf says which objects a filter wants. They are shown with the way to them.
export function filterOf(filter: string, problems: boolean): (o: Component) => boolean {
  const text = filter.trim().toLowerCase()
  return (o) => titleOf(o).toLowerCase().includes(text) && (!problems || !fine(o))
}

// titleOf is what a filter looks at.
export function titleOf(o: Component): string {
  return `${o.kind} ${o.namespace}/${o.name}`
}

export function keyOf(o: Component): string {
  return `${o.group}:${o.kind}:${o.namespace}/${o.name}`
}

// objectHref is the page of an object in its cluster.
export function objectHref(cluster: string, o: Component, tab?: string): string {
  const kind = resourceOf(o.group ? `${o.group}/${o.version}` : o.version, o.kind)
  return objectPath(cluster, { ...kind, version: o.version || kind.version }, o.namespace, o.name, tab)
}

export function fine(o: Component): boolean {
  return (o.health === 'Healthy' || o.health === '') && (o.synced || o.drift.length === 0)
}

// syncOf is the word for an object of the service itself; of others it is not known.
export function syncOf(o: Component): string {
  return o.synced ? 'Synced' : o.drift.length > 0 ? 'Drifted' : 'Pending'
}

// stateOf is the worse of health and drift.
export function stateOf(o: Component): string {
  return fine(o) || (o.health !== 'Healthy' && o.health !== '') ? o.health : 'Drifted'
}

// From the worst to the best; what has no health comes last.
const states = ['Degraded', 'Missing', 'Drifted', 'Progressing', 'Unknown', 'Suspended', 'Healthy', '']

export function badness(o: Component): number {
  const at = states.indexOf(stateOf(o))
  return at < 0 ? states.length - 1 : at
}

// order is that of siblings: the way to what fails first, then by state.
export function order(n: Node): number {
  return n.failing || !n.object ? -1 : badness(n.object)
}

// podOf is the pod to look at first: one that fails, else the newest.
export function podOf(nodes: readonly Node[]): Component | undefined {
  const pods: Node[] = []
  const walk = (list: readonly Node[]) => {
    for (const n of list) {
      if (n.object?.kind === 'Pod' && n.object.group === '') pods.push(n)
      walk(n.children)
    }
  }
  walk(nodes)
  return pods.toSorted((a, b) => order(a) - order(b) || Number(b.createdAt - a.createdAt))[0]?.object
}
