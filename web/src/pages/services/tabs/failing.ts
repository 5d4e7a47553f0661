import { type Node, order } from './tree'
import type { Component } from '#/api/gen/hub/v1/hub_pb'

// failingPods are one pod of each owner that has pods which fail, the way to the first failure first.
export function failingPods(nodes: readonly Node[]): Component[] {
  const found: Component[] = []
  const walk = (list: readonly Node[]) => {
    const sorted = list.toSorted((a, b) => order(a) - order(b) || Number(b.createdAt - a.createdAt))
    const pod = sorted.find((n) => n.object?.kind === 'Pod' && n.object.group === '' && (n.failing || !['Healthy', 'Suspended', ''].includes(n.object.health)))
    if (pod?.object) found.push(pod.object)
    for (const n of sorted) walk(n.children)
  }
  walk(nodes)
  return found
}
