import { expect, test } from 'vitest'
import { emptyForm, lines, problemIn, settingsOf } from './form'

test('lists are lines or separated by commas, each once', () => {
  expect(lines(' a@example.com\n\nb@example.com, a@example.com ')).toEqual(['a@example.com', 'b@example.com'])
})

test('the form names what is missing', () => {
  const form = { ...emptyForm, name: 'wiki', redirectUris: 'https://wiki.example.com/cb' }
  expect(problemIn(form)).toBeUndefined()
  expect(problemIn({ ...form, name: ' ' })).toMatch('name')
  expect(problemIn({ ...form, redirectUris: '\n' })).toMatch('redirect URI')
  expect(problemIn({ ...form, cluster: 'edge-1' })).toMatch('namespace')
})

test('without a cluster there is no namespace', () => {
  expect(settingsOf({ ...emptyForm, name: 'wiki', namespace: 'left' })).toMatchObject({ namespace: '', cluster: '' })
  expect(settingsOf({ ...emptyForm, name: 'wiki' })).not.toHaveProperty('name')
})
