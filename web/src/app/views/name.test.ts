import { expect, it } from 'vitest'
import { nameOf } from './name'
import { longest } from './views'
import { viewNameOf as ofSentence } from '#/ds/filters'
import { type Filter, filterOf, noFilter, viewNameOf } from '#/grid/filter'
import { auditFields } from '#/pages/audit/filter'
import { eventFields } from '#/pages/activity/events'
import { clusterFields } from '#/pages/clusters/filter'
import { viewNameOf as ofRepositories } from '#/pages/repositories/list'
import { serviceFields } from '#/pages/services/filter'
import { parseSearch } from '../search'

const services = (search: string): Filter => filterOf(parseSearch(search), serviceFields)

it.each([
  ['?verdict=Failed&cluster=prod-eu', 'Failed services of prod-eu'],
  ['?verdict=Failed&verdict=Stale', 'Failed or stale services'],
  ['?verdict=Failed&sync=Paused&cluster=a&cluster=b', 'Failed, paused services of a or b'],
  ['?cluster=!edge&verdict=!Healthy', 'Services where status is not Healthy and cluster is not edge'],
  ['?q=api*&tag=tier%3Dprod', 'Services where cluster tag is tier=prod and name has “api*”'],
])('services with %s are called “%s”', (search, name) => expect(viewNameOf('services', services(search), serviceFields)).toBe(name))

it('says the cluster, or the order when nothing else is chosen', () => {
  expect(viewNameOf('services', services('?verdict=Failed'), serviceFields, { of: 'edge-1', by: 'Changed' })).toBe('Failed services of edge-1')
  expect(viewNameOf('services', noFilter, serviceFields, { by: 'Changed' })).toBe('Services by changed')
  expect(viewNameOf('services', noFilter, serviceFields)).toBe('Services')
})

it('makes words of what is no word before a noun a clause', () => {
  expect(viewNameOf('clusters', filterOf(parseSearch('?verdict=NeedsYou&freshness=Stale&tunnel=Down'), clusterFields), clusterFields)).toBe('Stale clusters where status is Needs you and tunnel is Down')
})

it('names records, events and repositories', () => {
  expect(ofSentence('audit records', auditFields, { actor: 'ann', result: 'forbidden', from: '7d' })).toBe('Audit records since 7d where actor is ann and result is…')
  expect(ofSentence('events', eventFields, { cluster: 'edge-1', by: 'ann', kind: 'service.*' })).toBe('Events of edge-1 by ann where kind is service.*')
  expect(ofRepositories({ q: 'fleet', health: 'Failed', type: 'git', sort: '' }, 'Name')).toBe('Failed git repositories where text has “fleet”')
  expect(ofRepositories({ q: '', health: '', type: '', sort: 'name' }, 'Name')).toBe('Repositories by name')
})

it('fits, and ends between words where it can', () => {
  const long = nameOf({ noun: 'services', are: ['failed'], where: ['namespace is observability', 'repository is fleet-infrastructure'] })
  expect(long).toBe('Failed services where namespace is observability and…')
  const one = nameOf({ noun: 'services', of: ['x'.repeat(63)] })
  expect(one).toBe(`Services of ${'x'.repeat(47)}…`)
  expect(one).toHaveLength(longest)
})
