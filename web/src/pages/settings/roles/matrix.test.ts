import { create } from '@bufbuild/protobuf'
import { expect, test } from 'vitest'
import { actions, cellOf, changeOf, checkPlace, grantsOf, lossOf, placeOf } from './matrix'
import { BindingSchema } from '#/api/gen/hub/v1/access_pb'

const binding = (subject: string, action: string, level: string, object = '') => create(BindingSchema, { id: `${subject}-${action}`, subjectKind: 'user', subject, action, level, object })

test('bindings of one subject at one place are one row, the widest place first', () => {
  const rows = grantsOf([binding('ann', 'read', 'service', 'edge-1/web'), binding('bob', 'git', 'project', 'shop'), binding('bob', 'write', 'project', 'shop'), binding('ann', 'read', 'hub')])
  expect(rows.map((r) => [r.subject, r.level, [...r.bindings.keys()].toSorted()])).toEqual([
    ['ann', 'hub', ['read']],
    ['bob', 'project', ['git', 'write']],
    ['ann', 'service', ['read']],
  ])
})

test('write includes read and create, and nothing includes git', () => {
  const [row] = grantsOf([binding('ann', 'write', 'hub')])
  expect(actions.map((a) => cellOf(row!, a))).toEqual(['implied', 'yes', 'implied', 'no'])
})

test('a change creates and removes only what differs', () => {
  expect(changeOf(['read', 'git'], ['git', 'write'])).toEqual({ create: ['write'], remove: ['read'] })
  expect(changeOf(['read'], ['read'])).toEqual({ create: [], remove: [] })
})

test('what somebody loses counts what was included', () => {
  expect(lossOf(['write'], [])).toEqual(['read', 'write', 'create'])
  expect(lossOf(['write'], ['read'])).toEqual(['write', 'create'])
  expect(lossOf(['read', 'write'], ['write'])).toEqual([])
  expect(lossOf(['git'], ['git', 'read'])).toEqual([])
})

test('places are checked and given as calls want them', () => {
  expect(placeOf('service', 'edge-1/web')).toEqual({ cluster: 'edge-1', service: 'web' })
  expect(placeOf('hub', 'left over')).toEqual({})
  expect(checkPlace('service', 'web')).toContain('CLUSTER/NAME')
  expect(checkPlace('project', ' ')).toContain('name the project')
  expect(checkPlace('hub', '')).toBeUndefined()
})
