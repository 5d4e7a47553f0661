import { create } from '@bufbuild/protobuf'
import { screen, within } from '@testing-library/react'
import { expect, it, test, vi } from 'vitest'
import { ReadinessReport } from './ReadinessReport'
import { nextMinor, objectOf } from './readiness'
import { ReadinessFindingSchema, ReadinessResponseSchema } from '#/api/gen/hub/v1/readiness_pb'
import { renderRouted } from '#/test/router'

// Roles of a whole page are slow on a loaded machine.
vi.setConfig({ testTimeout: 30_000 })

const addons = { name: 'addons', state: 'NotChecked', message: 'this hub does not compare add-ons' }
const cells = (row: HTMLElement) => [...row.querySelectorAll('td')].map((td) => td.textContent)
const table = (name: string) => within(screen.getByRole('region', { name: `${name}, table` })).getAllByRole('row').map((row, i) => (i ? cells(row) : [...row.querySelectorAll('th')].map((th) => th.textContent)))

test('each finding has its service, file and replacement, and what is not shown counts', async () => {
  const report = create(ReadinessResponseSchema, {
    cluster: 'edge-1', to: '1.37', kubernetesVersion: 'v1.36.3', result: 'NotReady',
    checks: [
      { name: 'applied', state: 'Failed', examined: 40, notShown: 2, message: 'not shown: 2 about services that you may not read', findings: [{ service: 'web', group: 'flowcontrol.apiserver.k8s.io', version: 'v1beta3', kind: 'FlowSchema', name: 'a', removedIn: '1.37', replacement: 'flowcontrol.apiserver.k8s.io/v1/FlowSchema', message: 'it goes' }, { version: 'v1', kind: 'Old', namespace: 'shop', name: 'b', removedIn: '1.37' }] },
      { name: 'releases', state: 'Failed', examined: 3, findings: [{ release: 'ingress', namespace: 'net', group: 'policy', version: 'v1beta1', kind: 'PodSecurityPolicy', name: 'p', removedIn: '1.25', file: 'ingress/templates/psp.yaml', message: 'it goes too' }] },
      { name: 'budgets', state: 'Failed', examined: 1, findings: [{ group: 'policy', version: 'v1', kind: 'PodDisruptionBudget', namespace: 'shop', name: 'web', message: 'it lets no pod go' }] },
      addons,
    ],
  })
  await renderRouted(<ReadinessReport report={report} />)
  expect(screen.getByRole('region', { name: 'Result' }).textContent).toContain('Not ready6 findings for 1.37.Not checked: Add-ons.')
  expect(table('Objects of services')).toEqual([
    ['Of', 'Object', 'Removed in', 'Replacement', 'Message'],
    ['web', 'flowcontrol.apiserver.k8s.io/v1beta3/FlowSchema a', '1.37', 'flowcontrol.apiserver.k8s.io/v1/FlowSchema', 'it goes'],
    ['no service', 'v1/Old shop/b', '1.37', 'none', ''],
  ])
  expect(screen.getByRole('link', { name: 'web' }).getAttribute('href')).toBe('/services/edge-1/web')
  expect(table('Releases of Helm')[1]).toEqual(['release net/ingress', 'policy/v1beta1/PodSecurityPolicy p', '1.25', 'none', 'ingress/templates/psp.yaml', 'it goes too'])
  expect(table('PodDisruptionBudgets')).toEqual([
    ['Object', 'Message'],
    ['policy/v1/PodDisruptionBudget shop/web', 'it lets no pod go'],
  ])
  expect(table('Checks')[1]).toEqual(['Objects of services', 'Failed', '40', '4', 'not shown: 2 about services that you may not read'])
  expect(table('Checks')[4]).toEqual(['Add-ons', 'Not checked', '', '', 'this hub does not compare add-ons'])
})

test('nothing found is ready, and what was not checked is said; what could not be looked at is not ready', async () => {
  const report = { cluster: 'edge-1', to: '1.37', result: 'Ready', checks: [{ name: 'applied', state: 'Passed', examined: 7 }, addons] }
  const { unmount } = await renderRouted(<ReadinessReport report={create(ReadinessResponseSchema, report)} />)
  expect(screen.getByText('edge-1 is ready for 1.37')).toBeTruthy()
  expect(screen.getByText('Not checked: Add-ons.')).toBeTruthy()
  unmount()
  await renderRouted(<ReadinessReport report={create(ReadinessResponseSchema, { ...report, result: 'Unknown' })} />)
  expect(screen.queryByText('edge-1 is ready for 1.37')).toBeNull()
  expect(screen.getByText('Not all could be looked at for 1.37.')).toBeTruthy()
})

test('add-ons have their versions, and what others wrote about them is text', async () => {
  const report = create(ReadinessResponseSchema, {
    cluster: 'edge-1', to: '1.37', result: 'NotReady',
    checks: [{ name: 'addons', state: 'Failed', addons: [
      { name: 'cilium', release: 'cni', namespace: 'kube-system', version: '1.16.0', verdict: 'Incompatible', upgradeTo: '1.17.0', message: 'it does not', changes: [{ version: '1.17.0', breakingChanges: ['<b id="planted">the port</b>'], helmChanges: ['a value'] }] },
      { name: 'proxy', service: 'web', version: '1.0.0', verdict: 'AddonUnknown' },
    ] }],
  })
  await renderRouted(<ReadinessReport report={report} />)
  expect(table('Add-ons and their versions')).toEqual([
    ['Add-on', 'Of', 'Version', 'Verdict', 'Upgrade to', 'Changes'],
    ['cilium', 'release kube-system/cni', '1.16.0', 'Incompatible', '1.17.0', '1.17.0, breaking: <b id="planted">the port</b>1.17.0, chart: a value'],
    ['proxy', 'web', '1.0.0', 'Add-on unknown', '', ''],
  ])
  expect(document.getElementById('planted')).toBeNull()
})

it.each([
  ['v1.36.3', '1.37'],
  ['1.9', '1.10'],
  ['v1.34.2-eks-abc', '1.35'],
  ['', ''],
  ['unknown', ''],
])('the version after %j is %j', (version, next) => expect(nextMinor(version)).toBe(next))

it('names an API without an object', () => {
  expect(objectOf(create(ReadinessFindingSchema, { group: 'apps', version: 'v1beta1', kind: 'deployments' }))).toBe('apps/v1beta1/deployments')
  expect(objectOf(create(ReadinessFindingSchema, { message: 'the version is too far' }))).toBe('')
})
