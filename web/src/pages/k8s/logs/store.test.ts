// @vitest-environment jsdom
import { expect, test } from 'vitest'
import { tailOf } from './saved'
import { type StoreQuery, fields, requestOf } from './store'
import type { KubeObject } from '../kube/object'

const now = Date.parse('2026-11-29T10:00:00Z')
const none = Object.fromEntries(fields.map((f) => [f, ''])) as unknown as StoreQuery
const of = (some: Partial<StoreQuery>) => requestOf('edge-1', { ...none, ...some }, now)

test('text is text, whatever signs it has, and an expression is one', () => {
  expect(of({ text: 'a.b (c) [d] $e {2} ^|?*+\\' }).match).toBe(String.raw`(?i)a\.b \(c\) \[d\] \$e \{2\} \^\|\?\*\+\\`)
  expect(of({ text: 'Timeout|refused', regex: '1', not: 'ping' })).toMatchObject({ match: 'Timeout|refused', exclude: '(?i)ping' })
  expect(of({}).match).toBe('')
})

test('the same address asks for the same lines', () => {
  const fixed = { from: '2026-11-29T09:00:00.000Z', to: '2026-11-29T09:30:00.000Z', follow: '1' }
  expect(of(fixed)).toEqual(requestOf('edge-1', { ...none, ...fixed }, now + 1e9))
  expect(of(fixed)).toMatchObject({ follow: false, until: BigInt(Date.parse(fixed.to)) * 1_000n + 999n })
  expect(of({ last: '15m', follow: '1' })).toMatchObject({ follow: true, since: BigInt(now - 900_000) * 1_000n })
  expect(of({ last: 'nonsense', limit: 'x', around: 'y' })).toMatchObject({ since: BigInt(now - 3_600_000) * 1_000n, tailLines: 1_000n, before: 0, after: 0 })
})

test('a saved filter is asked for by its name, a workload by its own', () => {
  expect(of({ filter: 'shop/errors', query: '{x="y"}', namespace: 'other', source: 's' })).toMatchObject({ kind: 'LogFilter', namespace: 'shop', name: 'errors', store: { name: 's', query: '' } })
  expect(of({ namespace: 'shop', kind: 'Deployment', name: 'web', query: '{x="y"}', pod: 'web-1', container: 'main' })).toMatchObject({ kind: 'Deployment', namespace: 'shop', name: 'web', pods: ['web-1'], containers: ['main'], store: { query: '{x="y"}' } })
})

const tail = (spec: object) => tailOf('edge-1', { apiVersion: 'platform.plural.sh/v1alpha1', kind: 'LogTail', metadata: { name: 't', namespace: 'shop' }, spec } as unknown as KubeObject)

test('a LogTail leads to the log of its target, as its fields ask', () => {
  expect(tail({ target: 'deployment/web', container: 'proxy', limit: 500, follow: true })).toMatchObject({ kind: 'Deployment', of: 'web', href: '/clusters/edge-1/k8s/deployments.v1.apps/shop/web/logs?since=n500&c=proxy' })
  expect(tail({ target: 'sts/db' }).href).toBe('/clusters/edge-1/k8s/statefulsets.v1.apps/shop/db/logs?follow=0')
  expect(tail({ target: 'CronJobs/nightly' }).kind).toBe('CronJob')
  for (const target of ['web', 'ingress/web', 'deployment/', 7]) expect(tail({ target }).href).toBe('')
})
