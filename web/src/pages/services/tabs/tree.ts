import type { Component, TreeNode } from '#/api/gen/hub/v1/hub_pb'

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
  const text = filter.trim().toLowerCase()
  const lines: Line[] = []
  const wants = (o: Component) => (!text || `${o.kind} ${o.namespace}/${o.name}`.toLowerCase().includes(text)) && (!problems || !fine(o))
  const holds = (n: Node): boolean => (n.object !== undefined && wants(n.object)) || n.children.some(holds)
  const walk = (list: readonly Node[], level: number, above: string) => {
    for (const n of list.toSorted((a, b) => order(a) - order(b))) {
      if (!n.object || ((text || problems) && !holds(n))) continue
      const key = `${above}/${n.object.group}:${n.object.kind}:${n.object.namespace}/${n.object.name}`
      const open = n.children.length === 0 ? undefined : (chosen.get(key) ?? (n.failing || text !== '' || problems))
      lines.push({ key, level, object: n.object, createdAt: n.createdAt, failing: n.failing, children: n.children.length, open })
      if (open) walk(n.children, level + 1, key)
    }
  }
  walk(nodes, 1, '')
  return lines
}

export function fine(o: Component): boolean {
  return (o.health === 'Healthy' || o.health === '') && (o.synced || o.drift.length === 0)
}

const worst = ['Degraded', 'Missing', 'Progressing', 'Unknown', 'Suspended', 'Healthy']

function order(n: Node): number {
  const at = worst.indexOf(n.object?.health ?? '')
  return n.failing ? -1 : at < 0 ? worst.length : at
}
