import { expect, test } from 'vitest'
import type { KubeObject } from './object'
import { textOfValue } from './secret'
import { fromYAML, rebased, toYAML } from './yaml'

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
