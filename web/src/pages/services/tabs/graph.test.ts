import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { type Place, graphOf, maxDrawn, step } from './graph'
import { type Node, filterOf, fine } from './tree'
import { type TreeNode, TreeNodeSchema } from '#/api/gen/hub/v1/hub_pb'

function node(kind: string, name: string, health = 'Healthy', children: TreeNode[] = [], failing = false): TreeNode {
  return create(TreeNodeSchema, { object: { kind, group: kind === 'Pod' || kind === 'ConfigMap' ? '' : 'apps', version: 'v1', namespace: 'shop', name, health, synced: true }, failing, children })
}

const everything = filterOf('', false)

function size(nodes: readonly Node[]): number {
  return nodes.reduce((n, one) => n + 1 + size(one.children), 0)
}

const label = (p: Place) => (p.group ? `+${p.group.count} ${p.group.noun}` : (p.object?.name ?? 'service'))

// Three deployments of many pods each, and a thousand settings; every 50th pod fails.
function fleet(pods: number): TreeNode[] {
  const deployment = (name: string) => node('Deployment', name, 'Healthy', [node('ReplicaSet', `${name}-1`, 'Healthy', Array.from({ length: pods }, (_, i) => node('Pod', `${name}-1-${i}`, i % 50 === 7 ? 'Degraded' : 'Healthy')))])
  return [...Array.from({ length: 1_000 }, (_, i) => node('ConfigMap', `settings-${i}`)), ...['web', 'api', 'jobs'].map(deployment)]
}

// What holds for each graph.
function check(nodes: readonly Node[], places: readonly Place[], max: number) {
  expect(places.length).toBeLessThanOrEqual(max)
  const objects = places.flatMap((p) => p.object ?? [])
  expect(new Set(places.map((p) => p.key)).size).toBe(places.length)
  expect(objects.length + places.reduce((n, p) => n + (p.group?.count ?? 0), 0)).toBe(size(nodes))

  // Nothing overlaps: each has a cell of the grid.
  expect(new Set(places.map((p) => `${p.column} ${p.row}`)).size).toBe(places.length)
  for (const [i, p] of places.entries()) {
    const owned = places.filter((q) => q.owner === i)
    expect(p.below).toBe(owned.length)
    expect(owned.map((q) => q.position)).toEqual(owned.map((_, n) => n + 1))
    expect(owned.every((q) => q.column === p.column + 1 && q.siblings === owned.length && q.row >= p.row)).toBe(true)
    if (owned[0]) expect(owned[0].row).toBe(p.row)
    expect(owned.filter((q) => q.group).length).toBeLessThanOrEqual(1)
  }
  // A column is in the order in which its boxes are listed: keys go down by it.
  for (let column = 0; column < 5; column++) {
    const rows = places.filter((p) => p.column === column).map((p) => p.row)
    expect(rows).toEqual(rows.toSorted((a, b) => a - b))
  }
}

// Drawn objects that are well and lead to nothing that is not.
function idle(nodes: readonly Node[], places: readonly Place[]): string[] {
  const drawn = new Set(places.flatMap((p) => p.object ?? []))
  const walk = (list: readonly Node[]): string[] => list.flatMap((n) => [...(n.object && drawn.has(n.object) && !troubled(n) ? [n.object.name] : []), ...walk(n.children)])
  const troubled = (n: Node): boolean => !fine(n.object!) || n.children.some(troubled)
  return walk(nodes)
}

describe('graphOf', () => {
  it('draws all of a small service, the way to what fails first', () => {
    const nodes = [
      node('ConfigMap', 'settings'),
      node('Deployment', 'web', 'Degraded', [node('ReplicaSet', 'web-1', 'Healthy', [node('Pod', 'web-1-a')]), node('ReplicaSet', 'web-2', 'Degraded', [node('Pod', 'web-2-a'), node('Pod', 'web-2-b', 'Degraded', [], true)], true)], true),
    ]
    const places = graphOf(nodes, everything)
    expect(places.map((p) => `${p.row} ${'  '.repeat(p.column)}${label(p)}`)).toEqual([
      '0 service',
      '0   web',
      '0     web-2',
      '0       web-2-b',
      '1       web-2-a',
      '2     web-1',
      '2       web-1-a',
      '3   settings',
    ])
    check(nodes, places, maxDrawn)
    expect(places.filter((p) => p.failing).map(label)).toEqual(['service', 'web', 'web-2', 'web-2-b'])
  })

  it('draws at most 300 boxes of 5,000 nodes, and counts the rest once', () => {
    const nodes = fleet(1_400)
    expect(size(nodes)).toBeGreaterThan(5_000)
    const places = graphOf(nodes, everything)
    check(nodes, places, maxDrawn)
    expect(places.length).toBeGreaterThan(maxDrawn - 3)
    const groups = places.filter((p) => p.group)
    expect(groups.map((p) => p.group!.noun).toSorted()).toEqual(['configmaps', 'pods', 'pods', 'pods'])
    // All 84 that fail are drawn, so that no group has one.
    expect(places.filter((p) => p.object?.health === 'Degraded')).toHaveLength(84)
    for (const p of groups) expect(p.group).toMatchObject({ state: 'Healthy', inState: p.group!.count })
  })

  it.each([2, 3, 4, 5, 7, 10, 50, 87, 88, 89, 90, 299, 300, 1_000, 10_000])('hides nothing that fails behind what is well, with room for %i', (max) => {
    const nodes = fleet(1_400)
    const places = graphOf(nodes, everything, max)
    check(nodes, places, max)
    const hidesTrouble = places.some((p) => p.group && p.group.state !== 'Healthy')
    if (hidesTrouble) expect(idle(nodes, places)).toEqual([])
    else expect(idle(nodes, places).length).toBeGreaterThan(0)
  })

  it('draws what is higher up first, and shares the room among owners', () => {
    const of = (name: string) => node('ReplicaSet', name, 'Healthy', Array.from({ length: 500 }, (_, i) => node('Pod', `${name}-${i}`)))
    const nodes = [of('a'), of('b'), node('ConfigMap', 'c'), node('ConfigMap', 'd')]
    expect(graphOf(nodes, everything, 57).filter((p) => p.group).map(label)).toEqual(['+475 pods', '+475 pods'])
    expect(graphOf(nodes, everything, 9).map(label)).toEqual(['service', 'a', 'a-0', '+499 pods', 'b', 'b-0', '+499 pods', 'c', 'd'])
    expect(graphOf(nodes, everything, 7).map(label)).toEqual(['service', 'a', '+500 pods', 'b', '+500 pods', 'c', 'd'])
  })

  it('names a group by its kind, its worst state, and a text that finds it', () => {
    const group = (nodes: TreeNode[], max: number) => graphOf(nodes, everything, max).find((p) => p.group)?.group
    const pods = [...Array.from({ length: 5 }, (_, i) => node('Pod', `web-1-${i}`, 'Progressing')), ...Array.from({ length: 3 }, (_, i) => node('Pod', `web-1-x${i}`, 'Degraded'))]
    expect(group(pods, 3)).toEqual({ count: 7, noun: 'pods', state: 'Degraded', inState: 2, filter: 'Pod shop/web-1-' })
    expect(group([node('Pod', 'a'), node('Deployment', 'b'), node('ConfigMap', 'c')], 3)).toMatchObject({ count: 2, noun: 'objects', filter: 'shop/' })
    expect(group([node('Deployment', 'web', 'Healthy', [node('ReplicaSet', 'web-1')])], 2)).toMatchObject({ count: 2, noun: 'objects', filter: 'shop/web' })
    expect(group([node('Pod', 'a')], 1)).toMatchObject({ count: 1, noun: 'pod', filter: 'Pod shop/a' })
    const drifted = create(TreeNodeSchema, { object: { kind: 'ConfigMap', name: 'd', health: 'Healthy', drift: [{ path: '.data' }] } })
    expect(group([node('ConfigMap', 'e', 'Odd'), node('ConfigMap', 'f'), drifted], 2)).toMatchObject({ state: 'Drifted', inState: 1 })
  })

  it('has what a filter wants, and the way to it', () => {
    const nodes = fleet(100)
    expect(graphOf(nodes, filterOf('api-1-12', false)).map(label)).toEqual(['service', 'api', 'api-1', 'api-1-12'])
    expect(graphOf(nodes, filterOf('', true)).map(label)).toEqual(['service', 'web', 'web-1', 'web-1-7', 'web-1-57', 'api', 'api-1', 'api-1-7', 'api-1-57', 'jobs', 'jobs-1', 'jobs-1-7', 'jobs-1-57'])
  })

  it('is the service alone without objects', () => {
    expect(graphOf([], everything).map(label)).toEqual(['service'])
  })

  it('takes each node once, however many there are', () => {
    const nodes = fleet(333)
    let asked = 0
    const places = graphOf(nodes, () => {
      asked++
      return true
    })
    // Owners are kept for what they own.
    expect(asked).toBe(size(nodes) - 6)
    check(nodes, places, maxDrawn)
  })
})

describe('step', () => {
  const nodes = [node('Deployment', 'web', 'Degraded', [node('Pod', 'web-a'), node('Pod', 'web-b')]), node('ConfigMap', 'settings'), node('Deployment', 'api', 'Healthy', [node('Pod', 'api-a')])]
  const places = graphOf(nodes, everything)
  const from = (name: string, key: string) => {
    const to = step(places, places.findIndex((p) => label(p) === name), key)
    return to === undefined ? undefined : label(places[to]!)
  }

  it.each([
    ['service', 'ArrowLeft', 'service'],
    ['service', 'ArrowRight', 'web'],
    ['service', 'ArrowDown', 'service'],
    ['web', 'ArrowRight', 'web-a'],
    ['web', 'ArrowDown', 'settings'],
    ['settings', 'ArrowRight', 'settings'],
    ['settings', 'ArrowUp', 'web'],
    ['web-b', 'ArrowLeft', 'web'],
    ['web-a', 'ArrowDown', 'web-b'],
    ['web-b', 'ArrowDown', 'api-a'],
    ['api-a', 'ArrowUp', 'web-b'],
    ['api-a', 'ArrowDown', 'api-a'],
    ['web-a', 'ArrowUp', 'web-a'],
    ['web-b', 'Home', 'service'],
    ['web', 'End', 'api-a'],
    ['web', 'Enter', undefined],
  ])('from %s %s leads to %s', (name, key, to) => expect(from(name, key)).toBe(to))

  it('leads nowhere from outside', () => expect(step(places, -1, 'ArrowDown')).toBeUndefined())
})
