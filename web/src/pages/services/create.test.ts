import { expect, it } from 'vitest'
import { commandOf, emptyService, problemIn, requestOf } from './create'

const web = { ...emptyService, cluster: 'edge-1', name: 'web', repository: 'fleet', folder: 'apps/web' }

it('says which field is wrong, and how it should be', () => {
  expect(problemIn(web)).toBeUndefined()
  expect(problemIn({ ...web, folder: '' })).toBeUndefined()
  expect(problemIn({ ...web, cluster: ' ' })).toMatch(/^Cluster:/)
  expect(problemIn({ ...web, name: 'My Web' })).toMatch(/^Name:/)
  expect(problemIn({ ...web, repository: '' })).toMatch(/^Repository:/)
  expect(problemIn({ ...web, ref: '' })).toMatch(/^Branch/)
  for (const folder of ['/etc', '../up', 'a/../../b', '..']) expect(problemIn({ ...web, folder }), folder).toMatch(/^Folder:/)
  expect(problemIn({ ...web, namespace: 'A' })).toMatch(/^Namespace:/)
})

it('sends what the command would', () => {
  expect(requestOf(web)).toEqual({ ref: { cluster: 'edge-1', name: 'web' }, spec: { namespace: '', repository: 'fleet', git: { ref: 'main', folder: 'apps/web' } } })
  expect(commandOf(web)).toBe('axle services create edge-1/web --repo fleet --ref main --folder apps/web')
  expect(commandOf({ ...web, ref: "it's", folder: '', namespace: 'shop' })).toBe(`axle services create edge-1/web --repo fleet --ref 'it'\\''s' --namespace shop`)
  expect(commandOf(emptyService)).toBe('axle services create CLUSTER/NAME --repo REPOSITORY --ref main')
})
