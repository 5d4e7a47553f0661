import { expect, test } from 'vitest'
import { cell, csvOf, jsonOf } from './export'
import { auditFields, requestOf } from './filter'
import { changesOf, hrefOf, lineOf, objectOf, tokenOf, verbOf } from './record'
import { filtersOf, withFilters } from '#/ds/filters'
import { parseSearch, stringifySearch } from '#/app/search'

const line = (facts: object) => lineOf({ seq: 7n, hash: 'h', record: JSON.stringify({ at: 1_795_727_601_590_982, action: '/axle.hub.v1.Services/Update', result: 'ok', ...facts }) })

test('a formula never reaches a spreadsheet', () => {
  for (const bad of ['=1+1', '+1', '-1', '@sum', '\t=1', '\r=1', ' =1', '\n=cmd']) {
    const out = cell(bad)
    expect(out.replace(/^"/, '').startsWith("'")).toBe(true)
  }
  expect(cell('a-b')).toBe('a-b')
  expect(cell(-5)).toBe('-5')
  expect(cell('say "hi", twice')).toBe('"say ""hi"", twice"')
  expect(cell('two\nlines')).toBe('"two\nlines"')
  expect(cell(undefined)).toBe('')
})

test('each record is one row with as many fields as the heading', () => {
  const out = csvOf([line({ actor: '=cmd|x', name: 'edge-1/web' }), line({})]).trimEnd().split('\r\n')
  expect(out).toHaveLength(3)
  for (const row of out) expect(row.split(',')).toHaveLength(20)
  expect(out[1]).toContain("'=cmd|x")
  expect(out[1]).toContain('2026-11-')
})

test('a JSON export keeps the hashed bytes', () => {
  const l = line({ name: 'a' })
  expect(JSON.parse(jsonOf([l]))).toEqual({ seq: 7, hash: 'h', record: JSON.parse(l.text) })
  expect(jsonOf([l])).toContain(l.text)
})

test('a filter of the URL becomes a request of the hub and comes back', () => {
  const values = { actor: 'ann@example.com', verb: 'Services/Update', object: 'service/edge-1/web', result: 'forbidden', from: '24h', until: '2026-11-21' }
  expect(filtersOf(parseSearch(stringifySearch(withFilters({}, auditFields, values))), auditFields)).toEqual(values)
  const now = Date.UTC(2026, 10, 26)
  expect(requestOf(values, now)).toEqual({ actor: 'ann@example.com', action: 'Services/Update', object: 'service/edge-1/web', cluster: '', result: 'forbidden', since: BigInt(Date.UTC(2026, 10, 25)) * 1000n, until: BigInt(Date.UTC(2026, 10, 21)) * 1000n })
  expect(requestOf({ from: 'nonsense' }, now).since).toBe(0n)
})

test('records say what was done to what, and where to see it', () => {
  expect(verbOf(line({}).facts)).toBe('Services/Update')
  expect(verbOf(line({ action: 'kubernetes', verb: 'delete' }).facts)).toBe('kubernetes delete')
  expect(objectOf(line({ kind: 'service', name: 'edge-1/web' }).facts)).toBe('service/edge-1/web')
  expect(hrefOf(line({ kind: 'service', name: 'edge-1/web' }).facts)).toBe('/services/edge-1/web')
  expect(hrefOf(line({ kind: 'repository', name: '../x' }).facts)).toBe('/repositories/..%2Fx')
  expect(hrefOf(line({ kind: 'user', name: 'ann' }).facts)).toBeUndefined()
})

test('changes are listed field by field', () => {
  expect(changesOf('{"git":{"ref":"main"},"a":[1,2]}', '{"git":{"ref":"v2"},"a":[1],"b":{}}')).toEqual([
    { path: 'a[1]', before: '2' },
    { path: 'b', after: '{}' },
    { path: 'git.ref', before: 'main', after: 'v2' },
  ])
  expect(changesOf(undefined, '{"x":"1"}')).toEqual([{ path: 'x', after: '1' }])
  expect(changesOf('{"cut… (70000 bytes)', '{}')).toBeUndefined()
})

test('a record that cannot be read is shown', () => {
  expect(lineOf({ seq: 1n, hash: '', record: '{' }).facts.action).toBe('unreadable')
})

test('a token is named with its owner while the hub knows it', () => {
  const known = [{ id: 'tok_1', name: 'ci', owner: 'kim@example.com' }]
  expect(tokenOf('tok_1', known)).toBe('ci of kim@example.com (tok_1)')
  expect(tokenOf('tok_2', known)).toBe('tok_2: a login, or a token that has ended')
  expect(tokenOf('tok_2', undefined)).toBe('tok_2')
})
