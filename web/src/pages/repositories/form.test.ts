import { expect, test } from 'vitest'
import { credentialsOf, emptyForm, keysOf, movedBy, problemIn } from './form'

const good = { ...emptyForm, name: 'fleet', url: 'https://git.example.com/fleet.git' }

test('a repository needs a name, and a URL of its type without a password in it', () => {
  expect(problemIn(good)).toBeUndefined()
  expect(problemIn({ ...good, name: 'Fleet One' })).toContain('Name:')
  expect(problemIn({ ...good, url: '' })).toContain('URL: it is missing')
  expect(problemIn({ ...good, url: 'fleet.git' })).toContain('no URL of git')
  expect(problemIn({ ...good, type: 'oci' })).toContain('oci://')
  expect(problemIn({ ...good, url: 'https://ann:secret@git.example.com/a.git' })).toContain('contains a password')
  expect(problemIn({ ...good, url: 'git@git.example.com:team/fleet.git' })).toBeUndefined()
})

test('each way to log in names what it lacks', () => {
  expect(problemIn({ ...good, auth: 'basic' })).toBe('User: it is missing.')
  expect(problemIn({ ...good, auth: 'basic', secrets: { username: 'ann' } })).toBe('Password or token: it is missing.')
  expect(problemIn({ ...good, auth: 'basic', secrets: { username: 'ann', password: 'x' } })).toBeUndefined()
})

test('credentials never follow a changed address', () => {
  const before = { ...good, auth: 'basic', renew: false }
  for (const change of [{ url: 'https://elsewhere.example.com/fleet.git' }, { proxy: 'http://p:1' }, { apiUrl: 'https://a' }, { region: 'r' }, { endpoint: 'https://e' }, { plainHttp: true }, { passCredentials: true }]) {
    const after = { ...before, ...change }
    expect(movedBy(before, after)).toHaveLength(1)
    expect(problemIn(after, before)).toContain('give them again')
    expect(problemIn({ ...after, renew: true, secrets: { username: 'ann', password: 'x' } }, before)).toBeUndefined()
  }
  expect(movedBy({ ...before, auth: 'none' }, { ...before, url: 'https://x' })).toEqual([])
  expect(problemIn({ ...before, maxBytes: '5' }, before)).toBeUndefined()
})

test('only the fields of the chosen way are sent', () => {
  const form = { ...good, auth: 'token', secrets: { username: 'left over', password: 't', privateKey: 'left over' } }
  expect(credentialsOf(form)).toEqual({ password: 't' })
  expect(credentialsOf({ ...form, auth: 'ssh', secrets: { privateKey: 'KEY\n\n', knownHosts: 'h' } })).toEqual({ privateKey: 'KEY\n', knownHosts: 'h\n' })
})

test('trusted keys are blocks or lines', () => {
  expect(keysOf('ssh-ed25519 AAA\n\nssh-ed25519 BBB\n')).toEqual(['ssh-ed25519 AAA', 'ssh-ed25519 BBB'])
  expect(keysOf('-----BEGIN A-----\nx\n-----END A-----\n-----BEGIN A-----\ny\n-----END A-----')).toHaveLength(2)
})
