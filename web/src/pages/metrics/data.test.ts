// @vitest-environment jsdom
import { create } from '@bufbuild/protobuf'
import { expect, it } from 'vitest'
import { behindOf, cutOf, formatOf, seriesOf, unitOf } from './data'
import { dashboardOf, dashboardPath } from './dashboards'
import { logsIn } from './InRange'
import { deploymentsIn } from './useDeployments'
import { DrawnGraphSchema } from '#/api/gen/hub/v1/dashboards_pb'
import { EventSchema, RevisionSchema } from '#/api/gen/hub/v1/hub_pb'
import { MetricSeriesSchema } from '#/api/gen/hub/v1/observe_pb'

const at = 1_790_000_000
const micros = (seconds: number) => BigInt(seconds) * 1_000_000n
const asked = { startMicros: micros(at), endMicros: micros(at + 60), stepMicros: micros(15) }

it('a sample that is missing is a hole', () => {
  const web = create(MetricSeriesSchema, { legend: '', labels: [{ name: 'pod', value: 'web' }, { name: 'a', value: '<b>' }], times: [micros(at), micros(at + 60)], values: [1, 2] })
  expect(seriesOf(asked, [web])).toEqual({ times: [at, at + 15, at + 30, at + 45, at + 60], lines: [{ name: 'pod=web, a=<b>', values: [1, null, null, null, 2] }] })
  // When every query failed, nobody has said which times there are.
  expect(seriesOf({ ...asked, stepMicros: 0n }, [web])).toEqual({ times: [], lines: [] })
})

it('a source is behind only in a range that ends now', () => {
  expect(behindOf(micros(at + 60 - 900), asked, at + 60)).toBe(900)
  expect(behindOf(micros(at), asked, at + 86_400)).toBeUndefined()
  expect(behindOf(0n, asked, at + 60)).toBeUndefined()
})

it('percent of a dashboard are fractions, those of a panel are not', () => {
  expect([formatOf('percent'), formatOf('bytes'), formatOf('<b>')]).toEqual(['percent', 'bytes', 'none'])
  expect([unitOf('percent'), unitOf('requests/s'), unitOf('count')]).toEqual(['hundredths', 'per second', 'none'])
})

it('counts the series that did not come', () => {
  expect(cutOf(create(DrawnGraphSchema, { queries: [{ series: [{}, {}], seriesCut: 98 }, { seriesCut: 1 }] }))).toBe(101)
})

it('reads an object of another version, and makes an address of any name', () => {
  const d = dashboardOf({ apiVersion: 'platform.plural.sh/v1alpha1', kind: 'Dashboard', metadata: { name: 'web', namespace: 'shop' }, spec: { name: 'Web', defaultTime: '6h', later: { a: 1 }, graphs: [{ name: 'g', queries: [{ query: 'up', legendFormat: '$pod' }] }] } } as never)
  expect([d.settings.defaultTime, d.settings.graphs[0]!.queries[0]!.legendFormat]).toEqual(['6h', '$pod'])
  expect(dashboardPath('a/b', 'n', '../x')).toBe('/clusters/a%2Fb/dashboards/n/..%2Fx')
})

it('marks when a revision was applied, and when the service failed and recovered', () => {
  const event = (seconds: number, kind: string, message: string) => create(EventSchema, { at: micros(at + seconds), kind, message, id: BigInt(seconds) })
  const events = [event(70, 'service.applied', 'revision 0123456789ab'), event(50, 'service.recovered', ''), event(40, 'service.failed', 'web: crash loop'), event(35, 'service.updated', 'replicas'), event(30, 'service.applied', 'revision aaaaaaaaaaaa'), event(10, 'service.applied', 'revision 1.2.3'), event(-5, 'service.applied', 'revision bbbbbbbbbbbb')]
  const revisions = [create(RevisionSchema, { number: 7n, sourceRevision: 'a'.repeat(40), message: 'fix: <b>\n\nmore' })]
  const found = deploymentsIn(events, revisions, asked)
  expect(found.markers).toEqual([
    { at: at + 10, name: '1.2.3', text: 'Applied 1.2.3' },
    { at: at + 30, name: 'aaaaaaa', text: 'Applied revision 7, aaaaaaaaaaaa: fix: <b>' },
    { at: at + 40, name: 'failed', text: 'failed: web: crash loop' },
    { at: at + 50, name: 'recovered', text: 'recovered' },
  ])
  expect(found.cut).toBe(false)
  const many = Array.from({ length: 500 }, (_, i) => event(59, 'service.applied', `revision r${i}`))
  expect(deploymentsIn(many, [], { startMicros: micros(at), endMicros: micros(at + 60) }).cut).toBe(true)
})

it('leads from a range to the logs of it', () => {
  const deployment = { gvr: { group: 'apps', version: 'v1', resource: 'deployments' }, namespace: 'shop', name: 'web' }
  expect(logsIn('a/b', deployment, asked)).toBe('/clusters/a%2Fb/k8s/deployments.v1.apps/shop/web/logs?from=2026-09-21T14:13:20.000Z&to=2026-09-21T14:14:20.000Z')
})
