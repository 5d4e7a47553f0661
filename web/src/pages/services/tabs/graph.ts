import { type Node, badness, keyOf, order, stateOf, titleOf } from './tree'
import type { Component } from '#/api/gen/hub/v1/hub_pb'
import { resourceOf } from '#/pages/k8s/kube/kinds'

// So many boxes are drawn, with the service's own and those of groups.
export const maxDrawn = 300

// Group stands for what is not drawn of an owner, with everything below it.
export interface Group {
  count: number
  // "pods", or "objects" of several kinds.
  noun: string
  // Its worst state, and how many have that.
  state: string
  inState: number
  // Text that finds them in the tree.
  filter: string
}

// Place is a box of the graph: an object, a group, or neither for the service.
export interface Place {
  key: string
  object?: Component
  group?: Group
  // It is on the way to what fails first.
  failing: boolean
  // Index of its owner; -1 for the service.
  owner: number
  // Among what its owner owns, from 1, and of how many.
  position: number
  siblings: number
  // How many boxes are right of it.
  below: number
  column: number
  row: number
}

interface Item {
  object?: Component
  key: string
  failing: boolean
  // The worst of it and of all below it, from 0.
  rank: number
  items: Item[]
  // How many of the items are drawn: the first ones.
  drawn: number
}

// graphOf places the service, its objects and what they own. An owner is left of
// what it owns, in the row of the first; each other one begins a row, so that no two
// are in one place. When not all fit, what is in trouble and the way to it are drawn
// first, then what is higher up, then of every owner alike; groups stand for the
// rest. Nothing is sorted by comparison: the time grows with the number of nodes.
export function graphOf(nodes: readonly Node[], wants: (o: Component) => boolean, max = maxDrawn): Place[] {
  const items = itemsOf(nodes, wants, '')
  const service = { key: '', failing: items[0]?.failing ?? false, rank: 0, items, drawn: 0 }
  choose(service, max)
  return place(service)
}

function itemsOf(nodes: readonly Node[], wants: (o: Component) => boolean, above: string): Item[] {
  const byRank: Item[][] = []
  for (const n of nodes) {
    if (!n.object) continue
    const key = `${above}/${keyOf(n.object)}`
    const items = itemsOf(n.children, wants, key)
    if (items.length === 0 && !wants(n.object)) continue
    const rank = Math.min(order(n) + 1, items[0]?.rank ?? Infinity)
    ;(byRank[rank] ??= []).push({ object: n.object, key, failing: n.failing, rank, items, drawn: 0 })
  }
  return byRank.flat()
}

// choose says how many items of each owner fit. An owner comes before what it owns:
// its rank is as good, and it is higher up.
function choose(service: Item, max: number): void {
  // By rank, depth and place among siblings.
  const queue: { owner: Item; item: Item }[][][][] = []
  const enqueue = (owner: Item, depth: number) => {
    for (const [index, item] of owner.items.entries()) {
      const level = ((queue[item.rank] ??= [])[depth] ??= [])
      ;(level[index] ??= []).push({ owner, item })
      enqueue(item, depth + 1)
    }
  }
  enqueue(service, 0)
  let used = service.items.length > 0 ? 2 : 1
  for (const { owner, item } of queue.flat(3)) {
    // Its box and that of a group below it; its owner needs none after its last.
    used += 1 + (item.items.length > 0 ? 1 : 0) - (owner.drawn + 1 === owner.items.length ? 1 : 0)
    if (used > max) return
    owner.drawn++
  }
}

function place(service: Item): Place[] {
  const places: Place[] = []
  let row = 0
  const put = (item: Item, owner: number, column: number, position: number, siblings: number) => {
    const mine = places.length
    const hidden = item.items.slice(item.drawn)
    const below = item.drawn + Math.min(1, hidden.length)
    places.push({ key: item.key, ...(item.object && { object: item.object }), failing: item.failing, owner, position, siblings, below, column, row })
    for (const [i, one] of item.items.slice(0, item.drawn).entries()) put(one, mine, column + 1, i + 1, below)
    if (hidden.length > 0) places.push({ key: `${item.key}/+`, group: groupOf(hidden), failing: hidden[0]!.failing, owner: mine, position: below, siblings: below, below: 0, column: column + 1, row })
    if (hidden.length > 0 || below === 0) row++
  }
  put(service, -1, 0, 1, 1)
  return places
}

function groupOf(hidden: Item[]): Group {
  const objects: Component[] = []
  const add = (item: Item) => {
    if (item.object) objects.push(item.object)
    item.items.forEach(add)
  }
  hidden.forEach(add)
  const first = objects[0]!
  const alike = objects.every((o) => o.kind === first.kind && o.group === first.group)
  const kind = objects.length > 1 ? resourceOf(first.group ? `${first.group}/${first.version}` : first.version, first.kind).resource : first.kind.toLowerCase()
  const worst = objects.reduce((a, b) => (badness(b) < badness(a) ? b : a))
  const start = common(objects.map((o) => (alike ? titleOf(o) : titleOf(o).slice(o.kind.length + 1))))
  return {
    count: objects.length,
    noun: alike ? kind : 'objects',
    state: stateOf(worst),
    inState: objects.filter((o) => stateOf(o) === stateOf(worst)).length,
    // Less than a namespace finds anything.
    filter: alike || start.includes('/') ? start : '',
  }
}

// common is what all texts begin with.
function common(texts: string[]): string {
  let start = texts[0] ?? ''
  for (const text of texts) {
    let n = 0
    while (n < start.length && start[n] === text[n]) n++
    start = start.slice(0, n)
  }
  return start
}

// step is where a key leads to: left to the owner, right to the first that it owns,
// up and down the column: past the last sibling to what the next owner has.
export function step(places: readonly Place[], from: number, key: string): number | undefined {
  const here = places[from]
  if (!here) return undefined
  const beside = (p: Place) => p.column === here.column
  switch (key) {
    case 'ArrowLeft':
      return Math.max(0, here.owner)
    case 'ArrowRight':
      return here.below > 0 ? from + 1 : from
    case 'ArrowDown':
      return from + 1 + places.slice(from + 1).findIndex(beside)
    case 'ArrowUp': {
      const up = places.slice(0, from).findLastIndex(beside)
      return up < 0 ? from : up
    }
    case 'Home':
      return 0
    case 'End':
      return places.length - 1
    default:
      return undefined
  }
}
