import { expect, test } from 'vitest'
import { changedIn, emptyProvider, problemIn, valuesOf } from './form'
import { pairsOf, wordsOf } from '../pairs'

const good = { ...emptyProvider, name: 'okta', issuer: 'https://example.okta.com', clientId: '0oa' }

test('a provider needs a name for its URL, an issuer and a client', () => {
  expect(problemIn(good)).toBeUndefined()
  expect(problemIn({ ...good, name: 'My Okta' })).toContain('Name:')
  expect(problemIn({ ...good, issuer: 'example.okta.com' })).toContain('Issuer:')
  expect(problemIn({ ...good, issuer: 'https://a.b/.well-known/openid-configuration' })).toContain('leave out')
  expect(problemIn({ ...good, clientId: ' ' })).toContain('Client id')
  expect(problemIn({ ...good, groups: 'platform=team' })).toContain('Groups claim')
  expect(problemIn({ ...good, groupsClaim: 'groups', groups: 'platform' })).toContain('not KEY=VALUE')
})

test('an update sets only what changed', () => {
  expect(changedIn(good, good)).toEqual([])
  expect(changedIn(good, { ...good, title: 'Okta', groupsClaim: 'groups', groups: 'a=b', secret: 'x' })).toEqual(['title', 'groups_claim', 'groups'])
})

test('openid is always requested and not repeated', () => {
  expect(valuesOf({ ...good, scopes: 'openid, email\nprofile' }).scopes).toEqual(['email', 'profile'])
})

test('pairs are lines, values may contain =', () => {
  expect(pairsOf('a=b=c\n\n x = y ')).toEqual({ a: 'b=c', x: 'y' })
  expect(pairsOf('a=b\na=c')).toBe('"a" is there twice.')
  expect(wordsOf(' a, b\nc ')).toEqual(['a', 'b', 'c'])
})
