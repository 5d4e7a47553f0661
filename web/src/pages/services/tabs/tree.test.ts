import { create } from '@bufbuild/protobuf'
import { expect, it } from 'vitest'
import { linesOf, podOf } from './tree'
import { ServiceTreeSchema } from '#/api/gen/hub/v1/hub_pb'

const tree = create(ServiceTreeSchema, {
  objects: [
    { object: { kind: 'ConfigMap', name: 'settings', health: 'Healthy', synced: true } },
    {
      object: { kind: 'Deployment', name: 'web', health: 'Degraded', synced: true },
      failing: true,
      children: [{ object: { kind: 'ReplicaSet', name: 'web-1', health: 'Degraded' }, failing: true, children: [{ object: { kind: 'Pod', name: 'web-1-a', health: 'Degraded' }, failing: true }] }],
    },
    { object: { kind: 'Deployment', name: 'api', health: 'Healthy', synced: true }, children: [{ object: { kind: 'ReplicaSet', name: 'api-1', health: 'Healthy' } }] },
  ],
}).objects

const names = (lines: ReturnType<typeof linesOf>) => lines.map((l) => `${' '.repeat(l.level - 1)}${l.object.name}`)

it('opens the way to what fails, and nothing else', () => {
  expect(names(linesOf(tree, new Map(), '', false))).toEqual(['web', ' web-1', '  web-1-a', 'settings', 'api'])
})

it('keeps what somebody opened or closed', () => {
  const [web] = linesOf(tree, new Map(), '', false)
  expect(names(linesOf(tree, new Map([[web!.key, false]]), '', false))).toEqual(['web', 'settings', 'api'])
})

it('finds objects deep down, with the way to them', () => {
  expect(names(linesOf(tree, new Map(), 'api-1', false))).toEqual(['api', ' api-1'])
  expect(names(linesOf(tree, new Map(), '', true))).toEqual(['web', ' web-1', '  web-1-a'])
  expect(linesOf(tree, new Map(), 'nothing', false)).toEqual([])
})

it('has what drifted before what is well', () => {
  const drifted = create(ServiceTreeSchema, { objects: [...tree.slice(2), { object: { kind: 'ConfigMap', name: 'edited', health: 'Healthy', drift: [{ path: '.data' }] } }] }).objects
  expect(names(linesOf(drifted, new Map(), '', false))).toEqual(['edited', 'api'])
})

it('looks first at the pod that fails, else at the newest', () => {
  expect(podOf(tree)?.name).toBe('web-1-a')
  const calm = create(ServiceTreeSchema, {
    objects: [{ object: { kind: 'Job', group: 'batch', name: 'j' }, children: [{ object: { kind: 'Pod', name: 'old', health: 'Healthy' }, createdAt: 1n }, { object: { kind: 'Pod', name: 'new', health: 'Healthy' }, createdAt: 2n }] }],
  }).objects
  expect(podOf(calm)?.name).toBe('new')
  expect(podOf([])).toBeUndefined()
})
