import { create } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { describe, expect, it } from 'vitest'
import { problemOf } from './errors'
import { laterOf } from './position'
import { ErrorDetailSchema, ManagementSchema } from './gen/hub/v1/hub_pb'

function hubError(code: Code, detailCode: string, message: string, headers: Record<string, string> = {}) {
  return new ConnectError(message, code, headers, [{ desc: ErrorDetailSchema, value: create(ErrorDetailSchema, { code: detailCode, message }) }])
}

describe('problemOf', () => {
  it("keeps the hub's words and code", () => {
    expect(problemOf(hubError(Code.NotFound, 'not_found', 'cluster "x" does not exist; axle clusters list shows them'))).toMatchObject({ code: 'not_found', message: 'cluster "x" does not exist; axle clusters list shows them', prove: false })
  })

  it('knows when a new proof is asked for', () => {
    expect(problemOf(hubError(Code.PermissionDenied, 'forbidden', 'this needs your password or passkey again, from the last 10 minutes: open /login/again in the browser, then repeat it')).prove).toBe(true)
    expect(problemOf(hubError(Code.PermissionDenied, 'forbidden', 'you may not write prod')).prove).toBe(false)
  })

  it('says when the hub asks to wait, and who manages the object', () => {
    expect(problemOf(hubError(Code.ResourceExhausted, 'exhausted', 'too many', { 'Retry-After': '7' })).retryAfter).toBe(7)
    const error = hubError(Code.Aborted, 'conflict', 'managed by terraform')
    error.details.push({ desc: ManagementSchema, value: create(ManagementSchema, { by: { tool: 'terraform', id: 'infra' } }) })
    expect(problemOf(error).managedBy).toBe('terraform infra')
  })

  it('calls a hub that does not answer by name', () => {
    expect(problemOf(new ConnectError('Failed to fetch', Code.Unknown))).toMatchObject({ code: 'offline', message: 'The hub does not answer (Failed to fetch).' })
  })

  it('takes anything', () => {
    expect(problemOf(new Error('x')).message).toBe('x')
    expect(problemOf('y').message).toBe('y')
  })
})

describe('laterOf', () => {
  it('compares sequences as numbers within one incarnation', () => {
    expect(laterOf('a.9', 'a.10')).toBe('a.10')
    expect(laterOf('a.10', 'a.9')).toBe('a.10')
    expect(laterOf('', 'a.1')).toBe('a.1')
  })

  it('takes the later incarnation, whatever its sequence', () => {
    expect(laterOf('06613483c7ca33-3051.81', '06613483c7ca34-0001.2')).toBe('06613483c7ca34-0001.2')
  })
})
