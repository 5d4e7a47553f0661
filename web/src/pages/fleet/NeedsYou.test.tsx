import { create } from '@bufbuild/protobuf'
import { QueryClientProvider } from '@tanstack/react-query'
import { screen, within } from '@testing-library/react'
import { expect, test, vi } from 'vitest'
import { NeedsYou } from './NeedsYou'
import { newQueryClient } from '#/api/call'
import { NeedsYouResponseSchema } from '#/api/gen/hub/v1/fleet_pb'
import { transport } from '#/api/transport'
import { renderRouted } from '#/test/router'

// Roles of a whole page are slow on a loaded machine.
vi.setConfig({ testTimeout: 30_000 })

test('one failed service leads to its page, several of a kind lead to their list', async () => {
  const message = create(NeedsYouResponseSchema, {
    items: [
      { kind: 'service_failed', title: 'Service edge-1/web failed.', count: 1n, examples: ['edge-1/web'], href: '/services/edge-1/web', message: 'its chart needs a value' },
      { kind: 'cluster_stale', title: '3 clusters are stale: no agent polls.', count: 3n, examples: ['edge-2', 'edge-3'], href: '/clusters?verdict=Stale' },
    ],
  })
  vi.spyOn(transport, 'unary').mockResolvedValue({ message } as never)
  await renderRouted(
    <QueryClientProvider client={newQueryClient()}>
      <NeedsYou project="" />
    </QueryClientProvider>,
  )
  const [one, several] = await screen.findAllByRole('listitem')
  expect(within(one!).getByRole('link', { name: 'Service edge-1/web failed.' }).getAttribute('href')).toBe('/services/edge-1/web')
  expect(within(one!).getByText('its chart needs a value')).toBeTruthy()
  expect(one!.textContent).not.toContain(' more')
  expect(within(several!).getByRole('link').getAttribute('href')).toBe('/clusters?verdict=Stale')
  expect(within(several!).getByText('edge-2, edge-3 and 1 more')).toBeTruthy()
})
