import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { conditionsOf, groupsOf, madeWord, wordOfCondition, wordOfPhase } from './made'
import { verdictOf } from './verdict'
import { ClusterSchema, MadeStateSchema } from '#/api/gen/hub/v1/hub_pb'
import { knownWords } from '#/status/words'

const cluster = (origin: object | undefined, rest: object = {}) => create(ClusterSchema, { freshness: 'Unknown', ...(origin ? { origin } : {}), ...rest })

describe('madeWord', () => {
  it.each([
    ['one that nobody reported on', cluster({}), 'Provisioning'],
    ['one with a phase', cluster({ state: { phase: 'Pending' } }), 'Pending'],
    ['one that is connected', cluster({ state: { phase: 'Provisioned' } }, { registered: true, freshness: 'Fresh' }), undefined],
    ['one that goes', cluster({ destroying: true }, { registered: true }), 'Destroying'],
    ['one without a template', cluster(undefined), undefined],
  ])('%s', (_, c, word) => {
    expect(madeWord(c)).toBe(word)
    expect(verdictOf(c, [])).toBe(word ?? (c.registered ? 'Healthy' : 'Pending'))
  })

  it('has words that people are given with icon and meaning', () => {
    for (const phase of ['Pending', 'Provisioning', 'Provisioned', 'Deleting', 'Failed', 'Unknown', 'Destroying', 'Running', 'ScalingUp', 'ScalingDown']) expect(knownWords).toContain(wordOfPhase(phase))
  })
})

describe('conditions', () => {
  it.each([
    ['Available', 'True', 'Good'],
    ['Available', 'False', 'Degraded'],
    ['RollingOut', 'True', 'Progressing'],
    ['RollingOut', 'False', 'Good'],
    ['Paused', 'True', 'Paused'],
    ['Available', 'Unknown', 'Unknown'],
    ['Paused', '', 'Unknown'],
  ])('%s that is %s is %s', (type, status, word) => expect(wordOfCondition({ type, status })).toBe(word))

  it('begin with those that are not as they are to be, and keep their order', () => {
    const state = create(MadeStateSchema, { conditions: [{ type: 'Paused', status: 'False' }, { type: 'Available', status: 'False' }, { type: 'InfrastructureReady', status: 'True' }, { type: 'Deleting', status: 'True' }] })
    expect(conditionsOf(state).map((c) => c.type)).toEqual(['Available', 'Deleting', 'Paused', 'InfrastructureReady'])
  })
})

it('counts no machines of a control plane that is the provider’s', () => {
  const state = create(MadeStateSchema, { controlPlane: { phase: 'Ready' }, pools: [{ name: 'a' }] })
  expect(groupsOf(state).map((g) => [g.name, g.machines])).toEqual([
    ['Control plane', false],
    ['a', true],
  ])
  expect(groupsOf(undefined)).toEqual([])
})
