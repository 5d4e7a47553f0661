// @vitest-environment jsdom
import { Terminal } from '@xterm/xterm'
import { expect, test } from 'vitest'
import { colourByStyle, strictDocument, strictly } from './sheets'

// jsdom has neither of these; what is tested is where the rules go.
class Sheet {
  rules = ''
  replaceSync(text: string) {
    this.rules = text
  }
}
globalThis.CSSStyleSheet = Sheet as never
document.adoptedStyleSheets ??= []
globalThis.matchMedia = (() => ({ matches: false, addListener() {}, removeListener() {} })) as never

test('a style element of a library becomes an adopted sheet, while it is asked for', () => {
  const element = strictly(() => document.createElement('style'))
  document.body.append(element)
  element.textContent = '.x { color: red }'
  expect(element.tagName).not.toBe('STYLE')
  expect((document.adoptedStyleSheets.at(-1) as unknown as Sheet).rules).toContain('red')
  element.remove()
  expect(document.adoptedStyleSheets).toHaveLength(0)
  expect(document.createElement('style').tagName).toBe('STYLE')
})

test('the document that a terminal gets is the document, but for style elements', () => {
  const strict = strictDocument()
  expect(strict instanceof Document).toBe(true)
  expect(strict.createElement('div').ownerDocument).toBe(document)
  expect(strict.createElement('style').tagName).not.toBe('STYLE')
  expect(strict.body).toBe(document.body)
})

test('the place where xterm.js writes a colour is still there', () => {
  const terminal = new Terminal({ documentOverride: strictDocument() })
  const host = document.createElement('div')
  document.body.append(host)
  strictly(() => terminal.open(host))
  expect(colourByStyle(terminal)).toBe(true)
  expect(document.querySelectorAll('style')).toHaveLength(0)
  terminal.dispose()
  expect(colourByStyle({})).toBe(false)
})
