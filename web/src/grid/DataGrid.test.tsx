import { fireEvent, render, screen } from '@testing-library/react'
import { useEffect, useState } from 'react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { DataGrid } from './DataGrid'
import type { Column } from './layout'
import { type Selection, nobody } from './select'
import type { Source } from './source'
import { handle } from '#/app/keys'

interface Row {
  id: string
  name: string
}
const columns: Column<Row>[] = [{ id: 'name', header: 'Name', sort: 'name', min: 100, grow: 1, cell: (r) => <a href={`#${r.id}`}>{r.name}</a> }]

function sourceOf(total: number, more: Partial<Source<Row>> = {}): Source<Row> {
  return { total, rowAt: (i) => ({ id: `id${i}`, name: `row ${i}` }), show: () => {}, loading: false, error: undefined, retry: () => {}, changed: 0, refresh: () => {}, matches: () => true, stale: false, ...more }
}

const opened = vi.fn()
const peeked = vi.fn()
const sorted = vi.fn()
let selected: Selection = nobody
const note = (s: Selection) => {
  selected = s
}

function Grid({ source, peek }: { source: Source<Row>; peek?: string }) {
  const [selection, setSelection] = useState<Selection>(nobody)
  useEffect(() => note(selection), [selection])
  return <DataGrid label="Rows" source={source} columns={columns} idOf={(r) => r.id} onOpen={opened} onSort={sorted} selection={selection} onSelection={setSelection} peek={peek} onPeek={peeked} empty={<p>nothing here</p>} />
}

beforeEach(() => {
  window.addEventListener('keydown', handle)
  vi.spyOn(HTMLElement.prototype, 'clientHeight', 'get').mockReturnValue(640)
  vi.spyOn(HTMLElement.prototype, 'clientWidth', 'get').mockReturnValue(800)
})
afterEach(() => {
  window.removeEventListener('keydown', handle)
  for (const mock of [opened, peeked, sorted]) mock.mockReset()
})

function focusRow(i: number) {
  const row = screen.getByRole('grid').querySelector<HTMLElement>(`[data-index="${i}"]`)!
  fireEvent.focus(row)
  row.focus()
  return row
}

const active = () => Number((document.activeElement as HTMLElement).dataset['index'])
const press = (key: string, options = {}) => fireEvent.keyDown(document.activeElement ?? document.body, { key, ...options })

describe('DataGrid', () => {
  it('tells how many rows there are and draws only those on the screen', () => {
    render(<Grid source={sourceOf(100_000)} />)
    const grid = screen.getByRole('grid', { name: 'Rows' })
    // The header is a row too.
    expect(grid.getAttribute('aria-rowcount')).toBe('100001')
    const rows = grid.querySelectorAll('[data-index]')
    expect(rows.length).toBeGreaterThanOrEqual(20)
    expect(rows.length).toBeLessThanOrEqual(40)
    expect(rows[3]?.getAttribute('aria-rowindex')).toBe('5')
  })

  it('is one stop of the Tab key', () => {
    render(<Grid source={sourceOf(50)} />)
    expect(screen.getByRole('grid').querySelectorAll('[data-index][tabindex="0"]')).toHaveLength(1)
    focusRow(4)
    expect(screen.getByRole('grid').querySelector('[data-index][tabindex="0"]')?.getAttribute('data-index')).toBe('4')
  })

  it.each([
    ['j', 3, 4],
    ['k', 3, 2],
    ['ArrowDown', 3, 4],
    ['ArrowUp', 3, 2],
    ['PageDown', 0, 19],
    ['Home', 12, 0],
    ['End', 3, 49],
  ])('%s goes from row %i to row %i', (key, from, to) => {
    render(<Grid source={sourceOf(50)} />)
    focusRow(from)
    press(key)
    expect(active()).toBe(to)
  })

  it('opens, looks, selects and clears by key', () => {
    const { rerender } = render(<Grid source={sourceOf(50)} />)
    focusRow(2)
    press('Enter')
    expect(opened).toHaveBeenCalledWith({ id: 'id2', name: 'row 2' })
    press('o')
    expect(peeked).toHaveBeenCalledWith({ id: 'id2', name: 'row 2' })
    press('x')
    expect(selected).toEqual({ all: false, ids: new Set(['id2']) })
    focusRow(5)
    press('X', { shiftKey: true })
    expect(selected).toEqual({ all: false, ids: new Set(['id2', 'id3', 'id4', 'id5']) })
    rerender(<Grid source={sourceOf(50)} peek="id2" />)
    press('Escape')
    expect(peeked).toHaveBeenLastCalledWith(undefined)
    rerender(<Grid source={sourceOf(50)} />)
    press('Escape')
    expect(selected).toEqual(nobody)
  })

  it('is where it was left when its entry of the history shows again, and at its top in another', () => {
    history.replaceState({ __TSR_key: 'one' }, '')
    const first = render(<Grid source={sourceOf(500)} />)
    focusRow(3)
    press('End')
    const { scrollTop } = screen.getByRole('grid')
    expect(scrollTop).toBeGreaterThan(0)
    first.unmount()
    history.pushState({ __TSR_key: 'two' }, '')
    const second = render(<Grid source={sourceOf(500)} />)
    expect(screen.getByRole('grid').scrollTop).toBe(0)
    second.unmount()
    history.replaceState({ __TSR_key: 'one' }, '')
    render(<Grid source={sourceOf(500)} />)
    expect(screen.getByRole('grid').scrollTop).toBe(scrollTop)
    expect(screen.getByRole('grid').querySelector('[data-active]')?.getAttribute('data-index')).toBe('499')
    history.replaceState(null, '')
  })

  // As when a change of the fleet is drawn and a key is pressed before its effects ran: a
  // child's effects run before those of the grid.
  it('leaves the focus where a key put it, although it is late itself', () => {
    function Late({ move }: { move: boolean }) {
      useEffect(() => {
        if (move) document.querySelector<HTMLElement>('[data-index="3"]')?.focus()
      }, [move])
      return null
    }
    const show = (move: boolean) => <DataGrid label="Rows" source={sourceOf(50)} columns={[{ ...columns[0]!, cell: (r) => (r.id === 'id9' ? <Late move={move} /> : r.name) }]} idOf={(r) => r.id} empty={null} />
    const { rerender } = render(show(false))
    focusRow(2)
    rerender(show(true))
    expect(active()).toBe(3)
    expect(screen.getByRole('grid').querySelector('[data-active]')?.getAttribute('data-index')).toBe('3')
  })

  it('sorts at the hub when a header is pressed', () => {
    render(<Grid source={sourceOf(5)} />)
    fireEvent.click(screen.getByRole('button', { name: 'Name' }))
    expect(sorted).toHaveBeenCalledWith('name')
  })

  it('leaves a row in its place that no longer matches, and offers the new order', () => {
    const refresh = vi.fn()
    render(<Grid source={sourceOf(5, { changed: 12, refresh, matches: (r) => r.id !== 'id1' })} />)
    const row = screen.getByRole('grid').querySelector('[data-index="1"]')!
    expect(row.getAttribute('data-off')).toBe('true')
    expect(row.textContent).toContain('no longer matches the filter')
    fireEvent.click(screen.getByRole('button', { name: /12 changed/ }))
    focusRow(0)
    press('r')
    expect(refresh).toHaveBeenCalledTimes(2)
  })

  it('says why there is nothing, and keeps the rows when reading again fails', () => {
    const { rerender } = render(<Grid source={sourceOf(0)} />)
    expect(screen.getByText('nothing here')).toBeTruthy()
    rerender(<Grid source={sourceOf(3, { error: new Error('the hub is away') })} />)
    expect(screen.getByRole('alert').textContent).toContain('the hub is away')
    expect(screen.getByText('row 2')).toBeTruthy()
  })
})
