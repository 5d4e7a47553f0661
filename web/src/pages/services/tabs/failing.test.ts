// @vitest-environment jsdom
import { create } from '@bufbuild/protobuf'
import { expect, it } from 'vitest'
import { failingPods } from './failing'
import { ServiceTreeSchema } from '#/api/gen/hub/v1/hub_pb'

const pod = (name: string, health: string, more = {}) => ({ object: { kind: 'Pod', name, health }, ...more })

it('takes one pod of each owner that has some which fail', () => {
  const tree = create(ServiceTreeSchema, {
    objects: [
      { object: { kind: 'Deployment', group: 'apps', name: 'well', health: 'Healthy' }, children: [pod('well-1', 'Healthy')] },
      { object: { kind: 'Deployment', group: 'apps', name: 'api', health: 'Degraded' }, children: [{ object: { kind: 'ReplicaSet', group: 'apps', name: 'api-1', health: 'Degraded' }, children: [pod('api-1-a', 'Degraded', { createdAt: 1n }), pod('api-1-b', 'Degraded', { createdAt: 2n })] }] },
      { object: { kind: 'Job', group: 'batch', name: 'migrate', health: 'Degraded' }, failing: true, children: [pod('migrate-1', 'Degraded', { failing: true })] },
    ],
  })
  expect(failingPods(tree.objects).map((p) => p.name)).toEqual(['migrate-1', 'api-1-b'])
})
