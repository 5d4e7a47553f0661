import { expect, test } from 'vitest'
import { emptyRouter, emptySink, filterLine, filtersOf, routerProblem, sinkProblem, sinkSettings, sinkTypes } from './form'

test('a sink needs a URL by https, or people', () => {
  const ok = { ...emptySink, name: 'ops', url: 'https://hooks.slack.com/x' }
  expect(sinkProblem(ok)).toBeUndefined()
  expect(sinkProblem({ ...ok, url: '' })).toContain('URL: it is missing')
  expect(sinkProblem({ ...ok, url: 'http://example.com' })).toContain('https')
  expect(sinkProblem({ ...ok, url: 'http://127.0.0.1:9' })).toBeUndefined()
  expect(sinkProblem({ ...ok, name: 'my ops' })).toContain('Name')
  expect(sinkProblem({ ...ok, type: 'PLURAL', url: '' })).toContain('at least one who sees it')
  expect(sinkProblem({ ...ok, type: 'PLURAL', url: '', groups: 'web team' })).toBeUndefined()
})

test('types are called as their services', () => {
  expect(sinkTypes.map((t) => t.label)).toEqual(expect.arrayContaining(['Slack', 'Microsoft Teams', 'Google Chat']))
})

test('a signing key does not follow to another URL', () => {
  const form = { ...emptySink, name: 'ci', type: 'WEBHOOK', url: 'https://elsewhere.example.com' }
  expect(sinkProblem(form, { signed: true })).toContain('give it again')
  expect(sinkProblem({ ...form, secret: 'short' }, { signed: true })).toContain('16 bytes')
  expect(sinkProblem({ ...form, secret: '0123456789abcdef' }, { signed: true })).toBeUndefined()
  expect(sinkProblem({ ...form, unsigned: true }, { signed: true })).toBeUndefined()
  expect(sinkProblem({ ...form, url: '' }, { signed: true })).toBeUndefined()
})

test('groups may have spaces in their names', () => {
  expect(sinkSettings({ ...emptySink, type: 'PLURAL', users: 'a@b.c, d@e.f', groups: 'web team\nops' })).toMatchObject({ users: ['a@b.c', 'd@e.f'], groups: ['web team', 'ops'] })
})

test('filters are read and written alike', () => {
  for (const line of ['service=web,cluster=edge-1', 'regex=/api$', 'service=a,regex=^x{1,3},y=z$']) {
    const read = filtersOf(line)
    expect(Array.isArray(read) && read.map(filterLine)).toEqual([line])
  }
  expect(filtersOf('web')).toContain('is no filter')
  expect(filtersOf('service=')).toContain('is empty')
  expect(filtersOf('')).toEqual([])
})

test('a router needs events and sinks', () => {
  expect(routerProblem({ ...emptyRouter, name: 'r' })).toContain('Sinks')
  expect(routerProblem({ ...emptyRouter, name: 'r', sinks: ['s'], events: [] })).toContain('Events')
  expect(routerProblem({ ...emptyRouter, name: 'r', sinks: ['s'] })).toBeUndefined()
})

test('a new name is what the hub takes, and a stored one is kept', () => {
  const sink = { ...emptySink, url: 'https://hooks.example.com/x' }
  const router = { ...emptyRouter, sinks: ['s'] }
  for (const name of ['ops', 'team.ops-1', 'a'.repeat(253)]) {
    expect(sinkProblem({ ...sink, name })).toBeUndefined()
    expect(routerProblem({ ...router, name })).toBeUndefined()
  }
  for (const name of ['Ops', 'a_b', 'ops-', 'a'.repeat(254)]) {
    expect(sinkProblem({ ...sink, name })).toMatch(/^Name:/)
    expect(sinkProblem({ ...sink, name }, { signed: false })).toBeUndefined()
    expect(routerProblem({ ...router, name })).toMatch(/^Name:/)
  }
})
