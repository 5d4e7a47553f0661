import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { stepsOf } from './steps'
import { type Service, ServiceSchema } from '#/api/gen/hub/v1/hub_pb'

const at = 1_795_727_575_000_000n

function service(change: Partial<Service> = {}): Service {
  return Object.assign(
    create(ServiceSchema, {
      sync: 'Synced',
      health: 'Healthy',
      freshness: 'Fresh',
      desiredRevision: 'b5f20fa',
      desiredDigest: 'axle1:a',
      appliedDigest: 'axle1:a',
      polledAt: at + 10_000_000n,
      reportedAt: at + 5_000_000n,
      updatedAt: at,
      committedAt: at - 60_000_000n,
      sources: [{ fetchedAt: at }],
    }),
    change,
  )
}

const states = (s: Service) => stepsOf(s).map((step) => step.state)
const error = (source: string, message: string) => create(ServiceSchema, { errors: [{ source, message }] }).errors

describe('stepsOf', () => {
  it('is all done for a healthy service', () => {
    expect(states(service())).toEqual(['Done', 'Done', 'Done', 'Done', 'Done'])
    expect(stepsOf(service())[0]?.took).toBe('1 m after the commit')
  })

  it('stops at the step that failed, with the words of the hub or agent', () => {
    const source = service({ sync: 'Failed', reason: 'SourceError', desiredRevision: '', desiredDigest: '', errors: error('source', 'folder "x" does not exist') })
    expect(states(source)).toEqual(['Failed', 'NotYet', 'NotYet', 'NotYet', 'NotYet'])
    expect(stepsOf(source)[0]?.message).toBe('folder "x" does not exist')

    const render = service({ sync: 'Failed', appliedDigest: '', health: 'Unknown', errors: error('render', 'config.yaml:6: invalid YAML') })
    expect(states(render)).toEqual(['Done', 'Done', 'Failed', 'NotYet', 'NotYet'])
    expect(stepsOf(render)[2]?.message).toBe('config.yaml:6: invalid YAML')

    const apply = service({ sync: 'Failed', appliedDigest: '', health: 'Unknown', errors: error('apply', 'configmaps is forbidden') })
    expect(states(apply)).toEqual(['Done', 'Done', 'Done', 'Failed', 'NotYet'])
    expect(stepsOf(apply)[3]?.message).toBe('configmaps is forbidden')
  })

  it('shows health although what was applied has drifted or is held', () => {
    expect(states(service({ sync: 'Drifted' }))).toEqual(['Done', 'Done', 'Done', 'Drifted', 'Done'])
    expect(states(service({ sync: 'Held', message: 'contested' }))).toEqual(['Done', 'Done', 'Done', 'Held', 'Done'])
    expect(states(service({ health: 'Degraded', message: '0 of 2 pods' }))).toEqual(['Done', 'Done', 'Done', 'Done', 'Degraded'])
  })

  it('waits for an agent that has not polled, and says when it is silent', () => {
    const waits = { appliedDigest: 'axle1:old', sync: 'Pending', polledAt: at - 1n, reportedAt: at - 1n }
    expect(states(service(waits))).toEqual(['Done', 'Waiting', 'NotYet', 'NotYet', 'NotYet'])
    expect(states(service({ ...waits, freshness: 'Stale' }))).toEqual(['Done', 'Stale', 'NotYet', 'NotYet', 'NotYet'])
    expect(states(service({ ...waits, reason: 'ClusterPending', message: 'the cluster waits for approval' }))[1]).toBe('Waiting')
  })
})
