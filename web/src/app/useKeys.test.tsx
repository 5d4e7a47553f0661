import { render } from '@testing-library/react'
import { useLayoutEffect } from 'react'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { handle } from './keys'
import { useKeys } from './useKeys'

beforeEach(() => window.addEventListener('keydown', handle))
afterEach(() => window.removeEventListener('keydown', handle))

const press = (key: string) => window.dispatchEvent(new KeyboardEvent('keydown', { key, cancelable: true }))

function Bound({ run }: { run: () => void }) {
  useKeys('Page', [{ keys: 'n', does: 'a new one', run }])
  return <button type="button">New</button>
}

// Pressing is somebody who presses the key when the page is in the document, before anything else happens.
function Pressing() {
  useLayoutEffect(() => void press('n'), [])
  return null
}

test('a key works as soon as what it belongs to is there, and no longer', () => {
  const run = vi.fn()
  const { unmount } = render(
    <>
      <Bound run={run} />
      <Pressing />
    </>,
  )
  expect(run).toHaveBeenCalledTimes(1)
  unmount()
  press('n')
  expect(run).toHaveBeenCalledTimes(1)
})

test('a key does what the page that shows says, not the one before it', () => {
  const [first, second] = [vi.fn(), vi.fn()]
  const { rerender } = render(<Bound run={first} />)
  rerender(
    <>
      <Bound run={second} />
      <Pressing />
    </>,
  )
  expect(first).not.toHaveBeenCalled()
  expect(second).toHaveBeenCalledTimes(1)
})
