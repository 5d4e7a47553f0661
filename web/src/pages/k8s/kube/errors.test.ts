import { Code, ConnectError } from '@connectrpc/connect'
import { expect, test } from 'vitest'
import { deniedOf, grantFor, refusalOf } from './errors'

const said = 'pods is forbidden: User "axle:kim" cannot list resource "pods" in API group "" in the namespace "web"'

test.each([`the cluster answered 403: ${said}`, `Error from server (Forbidden): ${said}`])('a refusal names who, what and where: %s', (message) => {
  expect(deniedOf(message)).toEqual({ user: 'axle:kim', verb: 'list', resource: 'pods', group: '', namespace: 'web', name: '' })
})

test('a refusal of the whole cluster needs a ClusterRole', () => {
  const denied = deniedOf('the cluster answered 403: nodes "n1" is forbidden: User "kim" cannot patch resource "nodes" in API group "" at the cluster scope')!
  expect(denied).toMatchObject({ name: 'n1', namespace: '', verb: 'patch' })
  expect(grantFor([denied])).toContain('kind: ClusterRoleBinding')
  expect(grantFor([{ ...denied, namespace: 'web' }])).toContain('kind: RoleBinding')
  expect(grantFor([{ ...denied, user: 'a"\nkind: Evil' }])).not.toContain('\nkind: Evil')
})

test('refusals of one person are one role, with a rule for each group', () => {
  const of = (group: string, resource: string) => ({ user: 'kim', verb: 'list', resource, group, namespace: '', name: '' })
  const text = grantFor([of('apps', 'deployments'), of('apps', 'daemonsets'), of('', 'pods')])
  expect(text).toContain('resources: ["deployments", "daemonsets"]')
  expect(text).toContain('apiGroups: [""]')
  expect(text.match(/- apiGroups/g)).toHaveLength(2)
})

test.each([
  ['the cluster answered 409: Operation cannot be fulfilled on configmaps "a": the object has been modified', Code.Aborted, 'conflict'],
  ['Error from server (Conflict): the object has been modified', Code.Aborted, 'conflict'],
  [`Error from server (Forbidden): ${said}`, Code.PermissionDenied, 'forbidden'],
  ['Error from server (Invalid): Deployment.apps "a" is invalid: spec.replicas: Invalid value: -1', Code.InvalidArgument, 'invalid'],
  ['Error from server (BadRequest): strict decoding error: unknown field "spec.foo"', Code.InvalidArgument, 'invalid'],
  ['Error from server (Forbidden): admission webhook "policy.example.com" denied the request: no', Code.PermissionDenied, 'webhook'],
  ["Error from server (Invalid): a is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no", Code.InvalidArgument, 'webhook'],
  ['the cluster answered 404: pods "a" not found', Code.NotFound, 'missing'],
] as const)('%s', (message, code, refusal) => {
  expect(refusalOf(new ConnectError(message, code))).toBe(refusal)
})
