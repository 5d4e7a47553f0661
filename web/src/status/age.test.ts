import { describe, expect, it } from 'vitest'
import { ageOf, millis, spanOf, timeOf, utcOf } from './age'
import { wordOf, knownWords } from './words'

const now = Date.UTC(2026, 10, 26, 12)

describe('ageOf', () => {
  it.each([
    [0, 'now'],
    [999, 'now'],
    [1_000, '1 s'],
    [59_999, '59 s'],
    [60_000, '1 m'],
    [3_599_999, '59 m'],
    [3_600_000, '1 h'],
    [47.9 * 3_600_000, '47 h'],
    [48 * 3_600_000, '2 d'],
    [400 * 86_400_000, '400 d'],
    [-5_000, 'now'],
  ])('%i ms ago is %s', (age, text) => {
    expect(ageOf(now - age, now)).toBe(text)
  })

  it('never gets younger as time goes on', () => {
    const order = (text: string) => (text === 'now' ? 0 : Number(text.split(' ')[0]) * { s: 1, m: 60, h: 3_600, d: 86_400 }[text.split(' ')[1]!]!)
    let last = 0
    for (let age = 0; age < 4 * 86_400_000; age += 977_000) {
      const next = order(ageOf(now - age, now))
      expect(next).toBeGreaterThanOrEqual(last)
      last = next
    }
  })
})

describe('times', () => {
  it('reads microseconds, and says them in English order and UTC', () => {
    expect(millis(1_795_727_575_163_719n)).toBe(1_795_727_575_163)
    expect(utcOf(Date.UTC(2026, 0, 2, 3, 4, 5))).toBe('2026-01-02 03:04:05 UTC')
    expect(timeOf(now)).toMatch(/26 Nov 2026/)
  })

  it.each([
    [850, '850 ms'],
    [12_000, '12 s'],
    [260_000, '4 m 20 s'],
    [3_600_000, '1 h'],
    [-1, '0 s'],
  ])('a span of %i ms is %s', (ms, text) => expect(spanOf(ms)).toBe(text))
})

describe('words', () => {
  it('has icon, tone and meaning for each, also for one it does not know', () => {
    for (const word of [...knownWords, '', 'SomethingNew']) {
      const known = wordOf(word)
      expect(known.icon).toBeTruthy()
      expect(known.tone).toMatch(/good|busy|warn|bad|stale|idle/)
      expect(known.meaning).not.toBe('')
    }
    expect(wordOf('SomethingNew').tone).toBe('idle')
  })
})
