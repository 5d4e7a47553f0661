import { describe, expect, it, vi } from 'vitest'
import { fixed, fixedOf, goodRange, rangeOf, shifted, sliceOf, wordsOf, zoomed } from './range'
import { gridOf, isolated, looksOf, sampled, summaryOf } from './series'
import { ticksOf } from './times'
import { stepsOf, units, valueOf } from './units'

describe('a value with its unit', () => {
  it.each([
    [0, 'bytes', '0 B'],
    [1536, 'bytes', '1.5 KiB'],
    [1023.9, 'bytes', '1 KiB'],
    [-(2 ** 30), 'bytes', '-1 GiB'],
    [2 ** 21, 'bytes/s', '2 MiB/s'],
    [0.5, 'percent', '50 %'],
    [50, 'hundredths', '50 %'],
    [1.0049, 'percent', '100 %'],
    [0.000004, 'seconds', '4 µs'],
    [0.25, 'seconds', '250 ms'],
    [90, 'seconds', '90 s'],
    [86_400 * 3, 'seconds', '3 d'],
    [12.34, 'per second', '12.3/s'],
    [0.25, 'cores', '250m'],
    [2, 'cores', '2'],
    [999.99, 'none', '1 k'],
    [1234567, 'none', '1.23 M'],
    [1e-9, 'none', '1.00e-9'],
    [1e21, 'none', '1.00e+21'],
    [Infinity, 'none', '∞'],
    [null, 'bytes', '–'],
    [Number.NaN, 'bytes', '–'],
  ] as const)('%s in %s is %s', (n, unit, text) => expect(valueOf(n, unit)).toBe(text))

  it.each(units)('has an axis of %s with steps that ascend and are told apart', (unit) => {
    const steps = stepsOf(unit)
    expect(steps.every((s, i) => i === 0 || s > steps[i - 1]!)).toBe(true)
    for (const step of steps.filter((s) => s > 1e-3 && s < 1e12)) expect(new Set([0, 1, 2, 3].map((n) => valueOf(n * step, unit))).size, String(step)).toBe(4)
  })
})

describe('lines over common times', () => {
  const at = 1_790_000_000
  it('have a hole where there is no sample, and no value that is not finite', () => {
    const s = gridOf(at, at + 60, 15, [{ name: 'a', at: [at, at + 31, at + 45, at + 60, at + 900], values: [1, 2, Number.NaN, Infinity, 9] }])
    expect(s.times).toEqual([at, at + 15, at + 30, at + 45, at + 60])
    expect(s.lines[0]!.values).toEqual([1, null, 2, null, null])
  })
  it('show a sample between two holes as a point', () => {
    expect(isolated([1, null, 2, null, 3, 4, null])).toEqual([0, 2])
  })
  it('have a last, lowest, mean and highest value of what is there', () => {
    expect(summaryOf([10, 20, 30, 40], [3, null, 1, null])).toEqual({ last: 1, at: 30, low: 1, mean: 2, high: 3 })
    expect(summaryOf([10], [null]).last).toBe(null)
  })
  it('can be told apart without colours', () => {
    expect(looksOf(0, false)).toEqual({ token: '--line-1', dash: [] })
    expect(looksOf(8, false).dash).not.toEqual([])
    expect(new Set([0, 1, 2, 3].map((n) => looksOf(n, true).dash.join())).size).toBe(4)
  })
  it('are sampled with both ends', () => {
    expect(sampled(3, 5)).toEqual([0, 1, 2])
    expect(sampled(1001, 11)).toEqual([0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000])
  })
})

describe('a time range', () => {
  const now = 1_790_000_000
  it('is a slice or both ends, and nothing else', () => {
    expect(['30m', '1h', '7d', '52w'].map(sliceOf)).toEqual([1800, 3600, 604_800, 31_449_600])
    for (const bad of ['', '0h', '-1h', '1', '1y', '99999d', '1h ', '1790000000..1780000000', '1..2', "1h'or", 7]) expect(goodRange(bad), String(bad)).toBeUndefined()
    expect(goodRange(fixed(now - 60.5, now))).toBe(`${now - 61}..${now}`)
  })
  it('moves, grows and never ends after now', () => {
    expect(shifted('1h', -1, now)).toBe(fixed(now - 7200, now - 3600))
    expect(zoomed('1h', 2, now)).toBe(fixed(now - 5400, now))
    // Later than a range that ended 10 minutes ago is the one that ends now.
    expect(shifted(fixed(now - 4200, now - 600), 1, now)).toBe(fixed(now - 3600, now))
    // Twice as long, again and again, stays a range that the hub answers.
    let wide = '1h'
    for (let n = 0; n < 20; n++) wide = zoomed(wide, 2, now)
    const { from, to } = fixedOf(wide)!
    expect(to - from).toBeLessThanOrEqual(400 * 86_400)
    expect(to).toBeLessThanOrEqual(now)
    expect(rangeOf('nonsense', now)).toEqual({ from: now - 3600, to: now })
    expect(fixedOf(fixed(now, now))).toEqual({ from: now, to: now + 1 })
    expect([wordsOf('1h'), wordsOf('30m'), wordsOf('odd')]).toEqual(['1 hour', '30 minutes', 'odd'])
  })
})

it('tells the two hours apart that have one name when summer ends', async () => {
  const zone = process.env['TZ']
  process.env['TZ'] = 'Europe/Berlin'
  try {
    vi.resetModules()
    const { momentOf } = await import('./times')
    const before = Date.UTC(2026, 9, 25, 0, 30) / 1000
    expect(momentOf(before)).toBe('25 Oct, 02:30:00 CEST')
    expect(momentOf(before + 3600)).toBe('25 Oct, 02:30:00 CET')
  } finally {
    process.env['TZ'] = zone
  }
})

it('an axis has the date where a day begins', () => {
  const day = 1_789_948_800 // a midnight in UTC
  const zone = new Date(day * 1000).getTimezoneOffset() * 60
  const texts = ticksOf([day - 3600, day, day + 3600].map((t) => t + zone), 3600)
  expect(texts[0]).toBe('23:00')
  expect(texts[1]).toMatch(/^\d+ Sep/)
  expect(texts[2]).toBe('01:00')
  expect(ticksOf([day, day + 86_400].map((t) => t + zone), 86_400)).toEqual([texts[1], expect.stringMatching(/Sep/)])
})
