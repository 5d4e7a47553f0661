import { create } from '@bufbuild/protobuf'
import { expect, test } from 'vitest'
import { rowActions } from './actions'
import { ServiceRowSchema } from '#/api/gen/hub/v1/fleet_pb'

const disabled = (allowed: boolean | undefined, paused: boolean) =>
  Object.fromEntries(rowActions(create(ServiceRowSchema, { cluster: 'c', name: 's', paused }), { allowed, reason: 'no binding' }, () => {}, () => {}).map((i) => [i.id, i.disabled]))

test('who may not write sees why on each action, and may still open', () => {
  const not = 'You may not: no binding'
  expect(disabled(false, false)).toEqual({ open: undefined, cluster: undefined, sync: not, pause: not, resume: not, rollback: not })
})

test('who may write is stopped by the state alone', () => {
  expect(disabled(true, false)).toMatchObject({ sync: undefined, pause: undefined, resume: 'It is neither paused nor pinned' })
  expect(disabled(true, true)).toMatchObject({ sync: undefined, pause: 'It is paused', resume: undefined })
})

// The hub decides anyway: nothing flickers while it is asked.
test('until the answer is there, actions are offered', () => {
  expect(disabled(undefined, false)).toMatchObject({ sync: undefined, pause: undefined })
})
