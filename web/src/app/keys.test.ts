// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { addScope, handle, setLetters } from './keys'

const ran = vi.fn()
let ends: (() => void)[] = []

function bind(name: string, ...keys: string[]) {
  ends.push(addScope({ name, bindings: keys.map((k) => ({ keys: k, does: k, run: () => ran(`${name} ${k}`), typing: k === 'mod+k' })) }))
}

function press(key: string, options: KeyboardEventInit = {}, target: Element = document.body) {
  const event = new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...options })
  target.dispatchEvent(event)
  return event
}

beforeEach(() => {
  window.addEventListener('keydown', handle)
  setLetters(true)
})
afterEach(() => {
  window.removeEventListener('keydown', handle)
  ends.forEach((end) => end())
  ends = []
  ran.mockReset()
  document.body.innerHTML = ''
})

describe('keys', () => {
  it('run what is bound, the innermost first', () => {
    bind('page', 'j', 'x')
    bind('list', 'j')
    press('j')
    press('x')
    expect(ran.mock.calls.flat()).toEqual(['list j', 'page x'])
  })

  it('know chords, and forget the first key', () => {
    bind('all', 'g c', 'c')
    press('g')
    press('c')
    press('c')
    expect(ran.mock.calls.flat()).toEqual(['all g c', 'all c'])
  })

  it('are off while somebody types, except those that say otherwise', () => {
    bind('all', 'j', 'mod+k')
    document.body.innerHTML = '<input><div data-keys="off"><button></button></div>'
    press('j', {}, document.querySelector('input')!)
    press('j', {}, document.querySelector('button')!)
    expect(ran).not.toHaveBeenCalled()
    press('k', { ctrlKey: true }, document.querySelector('input')!)
    expect(ran).toHaveBeenCalledWith('all mod+k')
  })

  it('can do without single letters', () => {
    bind('all', 'j', 'g c', 'Escape')
    setLetters(false)
    press('j')
    press('g')
    press('c')
    expect(ran).not.toHaveBeenCalled()
    press('Escape')
    expect(ran).toHaveBeenCalledWith('all Escape')
  })

  it('leave the keyboard to an open dialog', () => {
    bind('all', 'j')
    document.body.innerHTML = '<div data-overlay></div>'
    press('j')
    expect(ran).not.toHaveBeenCalled()
  })

  it('tell Shift of a letter apart, and not of a sign', () => {
    bind('all', 'Shift+x', '?')
    press('X', { shiftKey: true })
    press('?', { shiftKey: true })
    expect(ran.mock.calls.flat()).toEqual(['all Shift+x', 'all ?'])
  })
})
