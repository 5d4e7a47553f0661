import { describe, expect, it } from 'vitest'
import { countChanges, diffLines, hunksOf } from './lines'
import { pick, randomOf } from '#/test/random'

describe('diffLines', () => {
  it('gives both texts back, whatever they are', () => {
    const random = randomOf(7)
    for (let n = 0; n < 300; n++) {
      const text = () => Array.from({ length: Math.floor(random() * 12) }, () => pick(random, ['a', 'b', 'c', '  d: 1', ''])).join('\n')
      const before = text()
      const after = text()
      const lines = diffLines(before, after)
      const side = (kind: string) => lines.filter((l) => l.kind === 'same' || l.kind === kind).map((l) => l.text)
      expect(side('out')).toEqual(before === '' ? [] : before.replace(/\n$/, '').split('\n'))
      expect(side('in')).toEqual(after === '' ? [] : after.replace(/\n$/, '').split('\n'))
    }
  })

  it('finds the one line that differs', () => {
    const lines = diffLines('a\nb\nc\nd', 'a\nb\nX\nd')
    expect(countChanges(lines)).toEqual({ added: 1, removed: 1 })
    expect(lines.find((l) => l.kind === 'in')).toMatchObject({ text: 'X', right: 3 })
  })

  it('does not compare what is too long, but still shows it', () => {
    const many = (word: string) => Array.from({ length: 3_000 }, (_, i) => `${word}${i}`).join('\n')
    expect(countChanges(diffLines(many('a'), many('b')))).toEqual({ added: 3_000, removed: 3_000 })
  })
})

describe('hunksOf', () => {
  it('keeps three lines around a change and counts the rest', () => {
    const before = Array.from({ length: 40 }, (_, i) => `line ${i}`)
    const after = before.with(20, 'changed')
    const hunks = hunksOf(diffLines(before.join('\n'), after.join('\n')))
    expect(hunks[0]?.skipped).toBe(17)
    expect(hunks[0]?.lines).toHaveLength(8)
    expect(hunks[1]).toEqual({ skipped: 16, lines: [] })
  })
})
