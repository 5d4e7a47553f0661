import { create } from '@bufbuild/protobuf'
import { QueryClientProvider } from '@tanstack/react-query'
import { screen, within } from '@testing-library/react'
import { expect, test, vi } from 'vitest'
import { AlertsPanel, lookOf } from './Alerts'
import { newQueryClient } from '#/api/call'
import { ListClusterAlertsResponseSchema } from '#/api/gen/hub/v1/alerts_pb'
import { transport } from '#/api/transport'
import { renderRouted } from '#/test/router'

vi.setConfig({ testTimeout: 30_000 })

async function show(message: Parameters<typeof create<typeof ListClusterAlertsResponseSchema>>[1], tunnel = 'Up') {
  vi.spyOn(transport, 'unary').mockResolvedValue({ message: create(ListClusterAlertsResponseSchema, message) } as never)
  await renderRouted(
    <QueryClientProvider client={newQueryClient()}>
      <AlertsPanel cluster="edge-1" tunnel={tunnel} />
    </QueryClientProvider>,
  )
}

test('an alert has its urgency, place and links; texts of others stay text', async () => {
  await show({
    namespaces: { all: true },
    alerts: [
      { id: '1', name: 'OutOfStock', severity: 'critical', state: 'firing', namespace: 'shop', pod: 'web-0', summary: '<img src=x>', runbookUrl: 'https://runbooks.example.com/stock', links: [{ title: 'Grafana', url: 'https://grafana.example.com/' }] },
      { id: '2', name: 'Sly', severity: 'odd', state: 'firing', runbookUrl: 'javascript:alert(1)' },
      { id: '3', name: 'Late', state: 'silenced', silences: [{ id: 's', createdBy: 'kim', comment: 'known' }] },
    ],
    notices: ['Alertmanager did not answer'],
  })
  const [first, sly, late] = (await screen.findAllByRole('listitem')).filter((e) => e.textContent?.match(/OutOfStock|Sly|Late/))
  expect(within(first!).getByText('Critical')).toBeTruthy()
  expect(within(first!).getByText('shop/web-0')).toBeTruthy()
  expect(within(first!).getByText('<img src=x>')).toBeTruthy()
  const runbook = within(first!).getByRole('link', { name: /Runbook/ })
  expect([runbook.getAttribute('href'), runbook.getAttribute('rel')]).toEqual(['https://runbooks.example.com/stock', 'noopener noreferrer'])
  expect(within(first!).getByRole('link', { name: /Grafana/ })).toBeTruthy()
  expect(within(sly!).queryByRole('link')).toBeNull()
  expect(within(sly!).getByText('The cluster as a whole')).toBeTruthy()
  expect(late!.textContent).toContain('Silenced by kim: known')
  expect(screen.getByText('2 firing')).toBeTruthy()
  expect(screen.getByText('Alertmanager did not answer')).toBeTruthy()
})

test('nobody sees more than the hub said', async () => {
  await show({ namespaces: { names: ['shop'] } })
  expect(await screen.findByText('No alert fires in the namespaces that you see')).toBeTruthy()
})

test('without a tunnel nothing is asked', async () => {
  await show({}, 'Down')
  expect(await screen.findByText(/Alerts are read through the tunnel, which is closed/)).toBeTruthy()
  expect(transport.unary).not.toHaveBeenCalled()
})

test('severities that people invent look like a warning', () => {
  expect(lookOf({ state: 'firing', severity: 'sev-17' })).toEqual({ word: 'Warning', label: 'Sev-17' })
  expect(lookOf({ state: 'inhibited', severity: 'critical' }).word).toBe('Suspended')
})
