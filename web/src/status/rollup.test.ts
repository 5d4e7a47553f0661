import { describe, expect, it } from 'vitest'
import { rollUp, serviceVerdicts, worstOf, worseThan } from './rollup'

const syncs = ['', 'Synced', 'Pending', 'Applying', 'Drifted', 'Failed', 'Held', 'Paused']
const healths = ['', 'Healthy', 'Progressing', 'Degraded', 'Suspended', 'Missing', 'Unknown']
const freshnesses = ['Fresh', 'Stale', 'Unknown']

describe('rollUp', () => {
  it('gives every combination a verdict of the API, and Healthy to one alone', () => {
    const healthy: string[] = []
    for (const sync of syncs) {
      for (const health of healths) {
        for (const freshness of freshnesses) {
          const verdict = rollUp({ sync, health, freshness })
          expect(serviceVerdicts).toContain(verdict)
          if (verdict === 'Healthy') healthy.push(`${sync} ${health} ${freshness}`)
        }
      }
    }
    expect(healthy).toEqual(['Synced Healthy Fresh', 'Synced Healthy Unknown'])
  })

  it('never calls a stale service anything but Stale', () => {
    for (const sync of syncs) for (const health of healths) expect(rollUp({ sync, health, freshness: 'Stale' })).toBe('Stale')
  })

  it.each([
    ['Failed', 'Healthy', 'Failed'],
    ['Held', 'Healthy', 'Failed'],
    ['Synced', 'Degraded', 'Failed'],
    ['Drifted', 'Healthy', 'Drifted'],
    ['Drifted', 'Degraded', 'Failed'],
    ['Paused', 'Healthy', 'Paused'],
    ['Applying', 'Unknown', 'Progressing'],
    ['Synced', 'Missing', 'Progressing'],
    ['Pending', 'Healthy', 'Pending'],
    ['Synced', 'Suspended', 'Paused'],
  ])('%s and %s is %s', (sync, health, verdict) => {
    expect(rollUp({ sync, health, freshness: 'Fresh' })).toBe(verdict)
  })
})

describe('worstOf', () => {
  it('finds the worst, whatever the order', () => {
    expect(worstOf(['Healthy', 'Stale', 'Failed', 'Progressing'])).toBe('Failed')
    expect(worstOf(['Failed', 'Healthy'])).toBe('Failed')
    expect(worstOf([])).toBe('Healthy')
  })

  it('holds stale and unknown worse than healthy', () => {
    expect(worseThan('Stale', 'Healthy')).toBe(true)
    expect(worseThan('Unknown', 'Healthy')).toBe(true)
    expect(worseThan('Healthy', 'Healthy')).toBe(false)
  })
})
