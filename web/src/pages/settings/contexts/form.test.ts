import { expect, test } from 'vitest'
import { type ContextForm, changeOf, problemIn } from './form'

const before: ContextForm = { name: 'prod', project: '', values: '{"region":"eu-1","size":3}', secrets: [{ key: 'token', value: '', stored: true, state: 'keep' }] }

test('an update sends what differs, and never a secret that was kept', () => {
  expect(changeOf(before, before)).toEqual({ values: '{}', secrets: {}, unset: [] })
  const after: ContextForm = {
    ...before,
    values: '{"region":"eu-2","new":[1]}',
    secrets: [
      { key: 'token', value: '', stored: true, state: 'remove' },
      { key: 'password', value: 'x', stored: false, state: 'replace' },
    ],
  }
  expect(changeOf(before, after)).toEqual({ values: '{"region":"eu-2","new":[1]}', secrets: { password: 'x' }, unset: ['size', 'token'] })
})

test('a value that becomes a secret is not removed', () => {
  expect(changeOf(before, { ...before, values: '{"region":"eu-1"}', secrets: [...before.secrets, { key: 'size', value: '4', stored: false, state: 'replace' }] }).unset).toEqual([])
})

test('what is typed is checked before it is sent', () => {
  expect(problemIn(before, false)).toBeUndefined()
  expect(problemIn({ ...before, values: '[1]' }, false)).toContain('JSON object')
  expect(problemIn({ ...before, values: '{' }, false)).toContain('JSON object')
  expect(problemIn({ ...before, name: 'a b' }, true)).toContain('Name:')
  expect(problemIn({ ...before, secrets: [{ key: 'region', value: 'x', stored: false, state: 'replace' }] }, false)).toContain('twice')
  expect(problemIn({ ...before, secrets: [{ key: 'a', value: '', stored: false, state: 'replace' }] }, false)).toContain('missing')
})
