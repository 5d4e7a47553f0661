import { expect, test } from 'vitest'
import { nameProblem } from './names'
import { rules } from './rules'

test.each([
  ['name', ['a', 'a.b-c', 'a'.repeat(253)], ['', 'A', 'a_b', 'a-', '.a', 'a'.repeat(254), 'a b', 'a\nb']],
  ['label', ['a', 'a-b', 'a'.repeat(63)], ['a.b', 'shop-', '-a', 'a'.repeat(64)]],
  ['account', ['ci.shop', 'a'.repeat(63)], ['CI', 'a_b', 'ci-', 'a'.repeat(64)]],
  ['loginProvider', ['okta', 'a'.repeat(40)], ['a.b', 'okta-', 'a'.repeat(41)]],
  ['valueSet', ['Prod_1.eu', 'a'.repeat(63)], ['_a', 'a-', 'a'.repeat(64)]],
  ['group', ['web team', 'a', 'A/b@c'], ['system:masters', 'a ', ' a', 'a'.repeat(200)]],
] as const)('names by the rule %s', (rule, good, bad) => {
  for (const name of good) expect(nameProblem(rules[rule], name), name).toBeUndefined()
  for (const name of bad) expect(nameProblem(rules[rule], name), name).toBe(`Name: use ${rules[rule].words}.`)
})
