import { expect, test } from 'vitest'
import { apiVersionOf, formatGVR, listPath, objectPath, parseGVR, splitAPIVersion } from './gvr'
import { builtinKinds, customKinds, resourceOf } from './kinds'

test.each([
  ['pods.v1', { resource: 'pods', version: 'v1', group: '' }],
  ['deployments.v1.apps', { resource: 'deployments', version: 'v1', group: 'apps' }],
  ['ingresses.v1.networking.k8s.io', { resource: 'ingresses', version: 'v1', group: 'networking.k8s.io' }],
  ['agentconfigurations.v1alpha1.deployments.plural.sh', { resource: 'agentconfigurations', version: 'v1alpha1', group: 'deployments.plural.sh' }],
])('%s is a kind, there and back', (text, gvr) => {
  expect(parseGVR(text)).toEqual(gvr)
  expect(formatGVR(gvr)).toBe(text)
})

test.each(['', 'pods', 'pods.', '.v1', 'pods.1', 'Pods.v1', 'pods/log.v1', '../pods.v1', 'pods.v1.', 'pods.v1.-apps', 'pods.v1?x=1', 'po ds.v1', 'pods.v1.apps/../x', 'pods%2fx.v1'])('“%s” is no kind', (text) => {
  expect(parseGVR(text)).toBeUndefined()
})

test('every built-in kind has an address that leads back to it', () => {
  const seen = new Set<string>()
  for (const kind of builtinKinds) {
    const text = formatGVR(kind)
    expect(parseGVR(text)).toEqual({ group: kind.group, version: kind.version, resource: kind.resource })
    expect(seen.has(text)).toBe(false)
    seen.add(text)
  }
})

test('names in an address are escaped, and no namespace has a sign of its own', () => {
  const roles = parseGVR('clusterroles.v1.rbac.authorization.k8s.io')!
  expect(objectPath('eu 1', roles, '', 'system:node/x')).toBe('/clusters/eu%201/k8s/clusterroles.v1.rbac.authorization.k8s.io/-/system%3Anode%2Fx/summary')
  expect(listPath('a/b', roles)).toContain('/clusters/a%2Fb/k8s/')
})

test('an apiVersion splits and joins', () => {
  expect(splitAPIVersion('v1')).toEqual({ group: '', version: 'v1' })
  expect(splitAPIVersion('apps/v1')).toEqual({ group: 'apps', version: 'v1' })
  expect(apiVersionOf({ group: 'apps', version: 'v1', resource: 'x' })).toBe('apps/v1')
})

test('custom kinds take the version that the API server prefers', () => {
  const kinds = customKinds(
    ['widgets.example.com', 'nogroup', 'orphans.gone.example'],
    [
      { group: 'example.com', version: 'v1beta1', priority: 100 },
      { group: 'example.com', version: 'v1', priority: 200 },
    ],
  )
  expect(kinds.map(formatGVR)).toEqual(['widgets.v1.example.com'])
})

test('an owner of a custom kind is found by its definition, or guessed', () => {
  const customs = customKinds(['policies.example.com', 'fish.example.com'], [{ group: 'example.com', version: 'v1', priority: 1 }])
  expect(resourceOf('example.com/v1', 'Policy', customs).resource).toBe('policies')
  expect(resourceOf('example.com/v1', 'Fish', customs).resource).toBe('fish')
  expect(resourceOf('other.io/v1', 'Gateway').resource).toBe('gateways')
  expect(resourceOf('apps/v1', 'ReplicaSet').resource).toBe('replicasets')
})
