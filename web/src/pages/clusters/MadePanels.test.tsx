import { create } from '@bufbuild/protobuf'
import { render, screen, within } from '@testing-library/react'
import { expect, test, vi } from 'vitest'
import { MadePanels } from './MadePanels'
import { clusterColumns } from './columns'
import { ClusterRowSchema } from '#/api/gen/hub/v1/fleet_pb'
import { ClusterOriginSchema } from '#/api/gen/hub/v1/hub_pb'
import { renderRouted } from '#/test/router'

// Roles of a whole page are slow on a loaded machine.
vi.setConfig({ testTimeout: 30_000 })

const ago = (seconds: number) => BigInt(Date.now() - seconds * 1_000) * 1_000n

const origin = create(ClusterOriginSchema, {
  template: 'docker', commit: '0123456789abcdef0123', version: 'v1.36.4', managementCluster: 'mgmt', service: 'cluster-shop-1-abc', namespace: 'cluster-shop-1-abc',
  state: {
    phase: 'Provisioning', message: 'its control plane has no kubeconfig yet', reportedAt: ago(65), unmet: ['Cluster API does not report the cluster as Available.'],
    controlPlane: { phase: 'Running', desired: 3, ready: 1, upToDate: 3, versions: ['v1.36.4'] },
    pools: [{ name: 'workers', phase: 'ScalingUp', desired: 5, ready: 2, upToDate: 4, versions: ['v1.35.8', 'v1.36.4'] }],
    conditions: [{ type: 'Paused', status: 'False', reason: 'NotPaused', since: ago(7200) }, { type: 'Available', status: 'False', reason: 'NotAvailable', message: 'the network is made', since: ago(185) }],
  },
})
const cells = (row: HTMLElement) => [...row.querySelectorAll('td')].map((td) => td.textContent)

test('a cluster that is made shows phase, machines by pool and conditions, with ages', async () => {
  await renderRouted(<MadePanels cluster={{ name: 'shop-1' }} origin={origin} by={{ freshness: 'Stale', polledAt: ago(3_700) }} />)
  const facts = screen.getByRole('region', { name: 'Provisioning' })
  expect(facts.textContent).toContain('changed 1 m ago')
  expect(within(facts).getByText('Provisioning', { selector: 'dd *' }).closest('[data-dim]')).toBeTruthy()
  expect(within(facts).getByText('Cluster API does not report the cluster as Available.')).toBeTruthy()
  expect(within(facts).getByRole('link', { name: 'mgmt' }).getAttribute('href')).toBe('/clusters/mgmt')
  expect(within(facts).getByRole('link', { name: 'cluster-shop-1-abc' }).getAttribute('href')).toBe('/services/mgmt/cluster-shop-1-abc')
  expect(within(facts).getByText('Stale').parentElement?.textContent).toContain('1 h')
  const machines = within(screen.getByRole('region', { name: 'Machines, table' })).getAllByRole('row').slice(1)
  expect(machines.map(cells)).toEqual([
    ['Control plane', 'Running', '3', '1', '3', 'v1.36.4'],
    ['workers', 'ScalingUp', '5', '2', '4', 'v1.35.8 and v1.36.4'],
  ])
  const conditions = within(screen.getByRole('region', { name: 'Conditions, table' })).getAllByRole('row').slice(1)
  expect(conditions.map(cells)).toEqual([
    ['Available', 'False', '3 m', 'NotAvailable', 'the network is made'],
    ['Paused', 'False', '2 h', 'NotPaused', ''],
  ])
})

test('before the first report it says so', async () => {
  await renderRouted(<MadePanels cluster={{ name: 'shop-1' }} origin={create(ClusterOriginSchema, { template: 'docker', managementCluster: 'mgmt' })} by={undefined} />)
  expect(screen.getByText('not reported yet')).toBeTruthy()
  expect(screen.getByText('No machines are reported yet')).toBeTruthy()
})

test('the list shows Provisioning, the phase, Destroying, and else the verdict', () => {
  const shows = (cluster: object, verdict: string) => {
    const { container, unmount } = render(<>{clusterColumns[0]!.cell(create(ClusterRowSchema, { cluster, verdict }))}</>)
    const text = container.textContent
    unmount()
    return text
  }
  expect(shows({ origin: {} }, 'Pending')).toBe('Provisioning')
  expect(shows({ origin: { state: { phase: 'Provisioned' } } }, 'Pending')).toBe('Provisioned')
  expect(shows({ origin: { destroying: true }, registered: true }, 'Healthy')).toBe('Destroying')
  expect(shows({ origin: {}, registered: true }, 'Failed')).toBe('Failed')
  expect(shows({}, 'Pending')).toBe('Pending')
})
