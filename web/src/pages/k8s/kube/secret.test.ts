import { expect, test } from 'vitest'
import type { KubeObject } from './object'
import { dots, maskChanges, maskSecret, textOfValue, unmask } from './secret'
import { fromYAML, rebased, toYAML } from './yaml'

const canary = 'c2VjcmV0LWNhbmFyeS00NzEx' // secret-canary-4711
const secret = (): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  type: 'Opaque',
  metadata: { name: 'hush', namespace: 'web', resourceVersion: '7', annotations: { 'kubectl.kubernetes.io/last-applied-configuration': `{"data":{"password":"${canary}"}}`, note: 'kept' }, managedFields: [{ manager: 'kubectl' }] },
  data: { password: canary, user: 'a2lt', empty: '' },
})

test('nothing of a masked Secret has a value, also not its annotations', () => {
  const text = JSON.stringify(maskSecret(secret())) + toYAML(maskSecret(secret()), true)
  expect(text).not.toContain(canary)
  expect(text).not.toContain('secret-canary')
  expect(text).not.toContain('a2lt')
  expect(text).toContain('password')
  expect(text).toContain('(18 bytes)')
  expect(text).toContain('kept')
})

test('stringData is masked, and other kinds are left as they are', () => {
  expect(JSON.stringify(maskSecret({ ...secret(), stringData: { plain: 'open-sesame' } }))).not.toContain('open-sesame')
  const map = { ...secret(), kind: 'ConfigMap' }
  expect(maskSecret(map)).toBe(map)
})

test('an edit keeps the values that it did not touch', () => {
  const read = fromYAML(toYAML(maskSecret(secret())).replace(/user: .*/, 'user: bmV3'))
  if ('mistake' in read) throw new Error(read.mistake.message)
  const out = unmask(read.object, secret())
  expect(out['data']).toEqual({ password: canary, user: 'bmV3', empty: '' })
  expect(out.metadata.annotations?.['kubectl.kubernetes.io/last-applied-configuration']).toContain(canary)
})

test('a key that is removed is gone, and a mask for a new key is refused', () => {
  const { password: _, ...rest } = maskSecret(secret())['data']
  expect(unmask({ ...maskSecret(secret()), data: rest }, secret())['data']).toEqual({ user: 'a2lt', empty: '' })
  expect(() => unmask({ ...secret(), data: { other: `${dots} (3 bytes)` } }, secret())).toThrow('data.other is masked')
})

test('a comparison says which value changed, not to what', () => {
  const after = { ...secret(), data: { password: 'bmV3', user: 'a2lt' } }
  const shown = maskChanges(after, secret())
  expect(shown['data'].password).toBe(`${dots} (3 bytes) changed`)
  expect(shown['data'].user).toBe(`${dots} (3 bytes)`)
  expect(after['data'].password).toBe('bmV3')
})

test('a value is text or not', () => {
  expect(textOfValue(btoa('kim'))).toBe('kim')
  expect(textOfValue('//79')).toBeUndefined()
  expect(textOfValue(btoa('\u0000\u0001'))).toBeUndefined()
  expect(textOfValue('not base64 !')).toBeUndefined()
})

test('YAML leaves managedFields out and comes back the same', () => {
  const o: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', resourceVersion: '12', managedFields: [{ manager: 'x' }] }, data: { yes: 'yes', number: '007', lines: 'a\nb\n', odd: ': #' } }
  const text = toYAML(o)
  expect(text).not.toContain('managedFields')
  expect(toYAML(o, true)).toContain('managedFields')
  const back = fromYAML(text)
  expect('object' in back && back.object['data']).toEqual(o['data'])
  expect(rebased(text, '99')).toContain('resourceVersion: "99"')
  expect(fromYAML(rebased(text, '99'))).toMatchObject({ object: { metadata: { name: 'a', resourceVersion: '99' } } })
})

test('text that YAML 1.1 takes for something else is quoted', () => {
  const text = toYAML({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { a: 'yes', b: 'off', c: '012', d: '2026-01-02T03:04:05Z', e: '1:30', f: 'null', g: '1e3' } })
  expect(text.match(/'(yes|off|012|2026-01-02T03:04:05Z|1:30|null|1e3)'/g)).toHaveLength(7)
})

test.each([
  ['kind: [1', 1],
  ['apiVersion: v1\nkind: X\nmetadata:\n  name: a\n  name: b\n', 5],
  ['a: 1\n---\nb: 2\n', 2],
  ['', 1],
  ['- a\n', 1],
  ['just text', 1],
  ['apiVersion: v1\nkind: X\n', 1],
])('a mistake in YAML has a message and a line: %j', (text, line) => {
  const read = fromYAML(text)
  expect('mistake' in read && read.mistake.line).toBe(line)
  expect('mistake' in read && read.mistake.message.length).toBeGreaterThan(5)
})
