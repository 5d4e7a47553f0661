// @vitest-environment jsdom
import { readFileSync, readdirSync } from 'node:fs'
import { expect, it } from 'vitest'
import { fromOf } from './from'
import { managerText } from '#/api/manage'

it('says where a service comes from', () => {
  expect(fromOf({ repository: 'fleet', ref: 'main', chart: '' })).toEqual({ name: 'fleet', at: 'main' })
  expect(fromOf({ repository: 'charts', ref: '', chart: 'web', version: '1.x' })).toEqual({ name: 'charts', at: '1.x' })
  expect(fromOf({ repository: 'charts', ref: '', chart: 'web' })).toEqual({ name: 'charts', at: 'web' })
  // The agent's own service.
  expect(fromOf({ repository: '', ref: '', chart: '' })).toEqual({ name: 'the hub', at: '' })
  expect(fromOf(undefined)).toEqual({ name: 'the hub', at: '' })
})

const sources = readdirSync('src/pages', { recursive: true, encoding: 'utf8' })
  .filter((f) => f.endsWith('.tsx'))
  .map((f) => ({ f, text: readFileSync(`src/pages/${f}`, 'utf8') }))

it('no page writes a source or a manager by itself', () => {
  expect(sources.filter(({ text }) => / @ \{|' @ '/.test(text)).map(({ f }) => f)).toEqual(['services/columns.tsx'])
  expect(sources.filter(({ text }) => /managedBy\??\.id/.test(text)).map(({ f }) => f)).toEqual([])
})

it('an object of the operator is a kind and a name, not a path', () => {
  expect(managerText({ tool: 'operator', id: '9b1f2c3d-1111-2222-3333-444455556666/ServiceDeployment.deployments.plural.sh/infra/console' })).toBe('the operator: ServiceDeployment infra/console')
  expect(managerText({ tool: 'cli', id: '' })).toBe('people')
})
