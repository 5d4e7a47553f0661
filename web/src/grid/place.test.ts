// @vitest-environment jsdom
import { act, renderHook } from '@testing-library/react'
import { expect, it } from 'vitest'
import { useSelection } from './place'
import { nobody } from './select'

it('forgets what is selected when the list is another', () => {
  const { result, rerender } = renderHook(({ of }) => useSelection('Services', of), { initialProps: { of: 'q=web' } })
  act(() => result.current[1]({ all: true }))
  rerender({ of: 'q=web' })
  expect(result.current[0]).toEqual({ all: true })
  // All that match are others now.
  rerender({ of: 'q=api' })
  expect(result.current[0]).toEqual(nobody)
})
