// @vitest-environment jsdom
import { expect, it, vi } from 'vitest'
import { localEntries, pastedPath } from './entries'
import { navigation } from '../navigation'

const run = vi.fn()
const scopes = [{ name: 'List', bindings: [{ keys: 'r', does: 'refresh the order', run }] }, { name: 'Everywhere', bindings: [{ keys: '?', does: 'keys of this page', run }] }]

it('finds pages by all words, and nothing local for a prefix of the hub', () => {
  expect(localEntries('add clus', navigation, scopes, [], []).map((e) => e.to)).toEqual(['/clusters/new'])
  expect(localEntries('s:web', navigation, scopes, ['prod'], [])).toEqual([])
})

it('begins with recent clusters', () => {
  expect(localEntries('', navigation, scopes, ['prod', 'edge'], [])[0]).toMatchObject({ label: 'prod', to: '/clusters/prod' })
})

it('runs the actions of the page after >', () => {
  const found = localEntries('>refresh', navigation, scopes, [], [])
  expect(found.map((e) => e.label)).toEqual(['refresh the order'])
  found[0]?.run?.()
  expect(run).toHaveBeenCalled()
})

it('finds a saved view by its words, after the pages', () => {
  const view = { name: 'Failed services of prod-eu', path: '/services', search: '?verdict=Failed&cluster=prod-eu' }
  expect(localEntries('serv fail', navigation, scopes, [], [view])).toMatchObject([{ group: 'Views', label: view.name, to: '/services?verdict=Failed&cluster=prod-eu' }])
  expect(localEntries('serv', navigation, scopes, [], [view]).map((e) => e.label)).toEqual(['Services', 'Settings: service accounts', view.name])
  expect(localEntries('', navigation, scopes, ['prod'], [view]).map((e) => e.group).slice(0, 3)).toEqual(['Recent clusters', 'Views', 'Go to'])
  expect(localEntries('>fail', navigation, scopes, [], [view])).toEqual([])
})

it('takes a pasted address of this console, and no other', () => {
  expect(pastedPath('https://hub.example.com/services?verdict=Failed', 'https://hub.example.com')).toBe('/services?verdict=Failed')
  expect(pastedPath('https://evil.example.com/x', 'https://hub.example.com')).toBeUndefined()
  expect(pastedPath('//evil.example.com', 'https://hub.example.com')).toBeUndefined()
})
