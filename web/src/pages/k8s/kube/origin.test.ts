import { expect, test } from 'vitest'
import { type KubeObject, isProd } from './object'
import { originsOf, serviceOf } from './origin'
import { bytes, cores, quantity } from './quantity'

const object = (metadata: Partial<KubeObject['metadata']>): KubeObject => ({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web', namespace: 'shop', ...metadata } })
const marks = { labels: { 'axle-cd.github.io/managed': 'cl_1' }, annotations: { 'axle-cd.github.io/service': 'svc-1', 'axle-cd.github.io/tracking': 'apps/Deployment/shop/web' } }

test('an object of Axle has a label, a service and its own tracking mark', () => {
  expect(serviceOf(object(marks))).toBe('svc-1')
  expect(serviceOf(object({ annotations: marks.annotations }))).toBeUndefined()
  expect(serviceOf(object({ ...marks, annotations: { ...marks.annotations, 'axle-cd.github.io/tracking': 'apps/Deployment/shop/other' } }))).toBeUndefined()
})

test.each([
  [{ annotations: { 'meta.helm.sh/release-name': 'r', 'meta.helm.sh/release-namespace': 'n' } }, 'Helm', 'n/r'],
  [{ annotations: { 'argocd.argoproj.io/tracking-id': 'app:apps/Deployment:shop/web' } }, 'Argo CD', 'app'],
  [{ labels: { 'app.kubernetes.io/instance': 'app' }, managedFields: [{ manager: 'argocd-controller' }] }, 'Argo CD', 'app'],
  [{ labels: { 'kustomize.toolkit.fluxcd.io/name': 'k', 'kustomize.toolkit.fluxcd.io/namespace': 'flux-system' } }, 'Flux', 'flux-system/k'],
  [{ managedFields: [{ manager: 'Terraform' }] }, 'Terraform', ''],
  [{ ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'x', uid: 'u', controller: true }] }, 'owner', 'ReplicaSet x'],
] as const)('%j is of %s', (metadata, tool, id) => {
  expect(originsOf(object(metadata as Partial<KubeObject['metadata']>))).toMatchObject([{ tool, id }])
})

test('what Axle renders from a chart is of Axle alone', () => {
  expect(originsOf(object({ ...marks, annotations: { ...marks.annotations, 'meta.helm.sh/release-name': 'r' } })).map((o) => o.tool)).toEqual(['Axle'])
})

test('production is what tags or labels call it', () => {
  expect(isProd({ tier: 'prod' })).toBe('tier=prod')
  expect(isProd({ env: 'Production' })).toBe('env=Production')
  expect(isProd({ prod: 'true' })).toBe('prod=true')
  expect(isProd({ prod: 'false', env: 'preprod' })).toBeUndefined()
  expect(isProd(undefined)).toBeUndefined()
})

test('quantities are numbers', () => {
  expect(quantity('250m')).toBeCloseTo(0.25)
  expect(quantity('1Gi')).toBe(2 ** 30)
  expect(quantity('1e3')).toBe(1000)
  expect(quantity('nonsense')).toBe(0)
  expect([cores(0.25), cores(2), cores(0)]).toEqual(['250m', '2', '0'])
  expect([bytes(64 * 2 ** 20), bytes(1.5 * 2 ** 30), bytes(12)]).toEqual(['64 MiB', '1.5 GiB', '12 B'])
})
