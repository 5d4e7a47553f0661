import { readFileSync } from 'node:fs'
import { render, screen } from '@testing-library/react'
import { expect, test } from 'vitest'
import { Same } from './Same'
import { type ClusterForm } from './create'
import { shapesOf } from './schema'

const form: ClusterForm = { template: 'eks', name: 'shop-1', project: 'shop', management: 'mgmt', tags: { tier: 'prod', ready: 'yes', y: 'n', build: '010', at: '12:30', empty: '', octal: '0o17', date: '2026-11-29' } }
const shapes = shapesOf(JSON.stringify({ properties: { region: { type: 'string' }, count: { type: 'integer' }, nodePools: { type: 'array', items: { type: 'object', properties: { name: { type: 'string' } } } } } }))!
const given = { region: "eu'; x: #1", version: '1.30', count: 3, nodePools: [{ name: 'a', labels: { on: 'off' } }], note: 'two\nlines' }

const shown = (of: ClusterForm, variables: typeof given | Record<string, never>) => {
  const { unmount } = render(<Same form={of} shapes={shapes} given={variables} values={{}} />)
  const text = screen.getByLabelText('Object of the form').textContent
  unmount()
  return text
}

// An API server applies this file (test/kinds).
test('the form as an object is a ClusterRegistration, with texts that stay texts', () => {
  expect(shown(form, given)).toBe(readFileSync('../test/kinds/testdata/registration-of-the-console.yaml', 'utf8').trimEnd())
})

test('what is not chosen is left out', () => {
  const text = shown({ template: 'eks', name: '', project: 'default', management: '', tags: {} }, {})
  expect(text).toContain('name: NAME')
  for (const field of ['tags', 'managementCluster', 'variables']) expect(text).not.toContain(field)
})
