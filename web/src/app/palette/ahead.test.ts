// @vitest-environment jsdom
import { fireEvent } from '@testing-library/react'
import { afterEach, expect, it, vi } from 'vitest'
import { takeAhead, typeAhead } from './ahead'

afterEach(() => {
  takeAhead()
})

const press = (...keys: string[]) => keys.forEach((key) => fireEvent.keyDown(document.body, { key }))

it('keeps what is typed until it is taken, away from the keys of the page', () => {
  const page = vi.fn()
  window.addEventListener('keydown', page)
  typeAhead(() => {})
  press('w', 'e', 'x', 'Backspace', 'b', 'Enter')
  expect(page).not.toHaveBeenCalled()
  expect(takeAhead()).toEqual({ text: 'web', enter: true })
  press('j')
  expect(page).toHaveBeenCalledTimes(1)
  expect(takeAhead()).toEqual({ text: '', enter: false })
  window.removeEventListener('keydown', page)
})

it('gives up on Escape', () => {
  const onEscape = vi.fn()
  typeAhead(onEscape)
  press('w', 'Escape')
  expect(onEscape).toHaveBeenCalledTimes(1)
  expect(takeAhead().text).toBe('')
})

it('forgets an Enter when more is typed after it', () => {
  typeAhead(() => {})
  press('w', 'Enter', 'e')
  expect(takeAhead()).toEqual({ text: 'we', enter: false })
})
