import { ConnectError, Code } from '@connectrpc/connect'
import { cleanup, fireEvent, render, screen, within } from '@testing-library/react'
import { beforeEach, expect, it, vi } from 'vitest'
import { Chart } from './Chart'
import { gridOf, type Marker, type Series } from './series'

// jsdom has no canvas: what is drawn is looked at in a browser. Here the plot only notes.
const plot = vi.hoisted(() => ({ mounted: [] as { group?: string; onCursor: (i: number | undefined) => void; onZoom: (a: number, b: number) => void }[], drawn: 0, gone: 0, hidden: [] as string[], marked: [] as Marker[], selected: undefined as [number, number] | undefined }))
vi.mock('./plot', () => ({
  mountPlot: (_host: HTMLElement, input: (typeof plot.mounted)[number] & { markers: Marker[] }) => {
    plot.mounted.push(input)
    plot.marked = input.markers
    return {
      draw: () => plot.drawn++,
      hide: (names: Set<string>) => (plot.hidden = [...names]),
      mark: (markers: Marker[]) => (plot.marked = markers),
      point: () => {},
      select: (range: [number, number] | undefined) => (plot.selected = range),
      destroy: () => plot.gone++,
    }
  },
}))

const from = 1_790_000_000
const series: Series = gridOf(from, from + 60, 15, [
  { name: 'web', at: [0, 15, 30, 60].map((s) => from + s), values: [0, 15, 30, 60].map((s) => 1024 * (s + 1)) },
  { name: '<script>alert(1)</script>', at: [from], values: [1] },
])
beforeEach(() => Object.assign(plot, { mounted: [], drawn: 0, gone: 0, hidden: [], marked: [], selected: undefined }))

const mounted = () => vi.waitFor(() => expect(plot.mounted).toHaveLength(1))

it('has its lines in words, and a script in a name is text', async () => {
  const { container } = render(<Chart title="Memory" unit="bytes" series={series} group="page" />)
  await mounted()
  expect(plot.mounted[0]!.group).toBe('page')
  expect(container.querySelector('script')).toBe(null)
  expect(screen.getAllByText('<script>alert(1)</script>')).toHaveLength(2)
  const row = within(screen.getByRole('table')).getByRole('row', { name: /^web/ })
  expect(within(row).getAllByRole('cell').map((c) => c.textContent)).toEqual(['61 KiB', '1 KiB', '27.3 KiB', '61 KiB'])
})

it('shows the same as a table by time, where a hole is a dash', async () => {
  render(<Chart title="Memory" unit="bytes" series={series} />)
  await mounted()
  fireEvent.click(screen.getByRole('button', { name: 'Show Memory as a table' }))
  expect(plot.gone).toBe(1)
  const rows = within(screen.getByRole('region', { name: 'Memory by time' })).getAllByRole('row').slice(1)
  expect(rows.map((r) => within(r).getAllByRole('cell')[1]!.textContent)).toEqual(['61 KiB', '–', '31 KiB', '16 KiB', '1 KiB'])
  fireEvent.click(screen.getByRole('button', { name: 'Show the graph of Memory' }))
  await vi.waitFor(() => expect(plot.mounted).toHaveLength(2))
})

it('is read, selected and zoomed by keyboard', async () => {
  const zoom = vi.fn<(a: number, b: number) => void>()
  render(<Chart title="Memory" unit="bytes" series={series} onZoom={zoom} />)
  await mounted()
  const graph = screen.getByRole('slider', { name: 'Memory, graph of 2 lines' })
  expect(graph.getAttribute('aria-valuetext')).toContain('web 61 KiB')
  fireEvent.keyDown(graph, { key: 'Home' })
  expect(graph.getAttribute('aria-valuetext')).toContain('web 1 KiB')
  fireEvent.keyDown(graph, { key: 'ArrowRight', shiftKey: true })
  fireEvent.keyDown(graph, { key: 'ArrowRight', shiftKey: true })
  expect(plot.selected).toEqual([from, from + 30])
  fireEvent.keyDown(graph, { key: 'Enter' })
  expect(zoom).toHaveBeenCalledWith(from, from + 30)
  fireEvent.keyDown(graph, { key: 'ArrowLeft', shiftKey: true })
  fireEvent.keyDown(graph, { key: 'Escape' })
  fireEvent.keyDown(graph, { key: 'Enter' })
  expect(zoom).toHaveBeenCalledTimes(1)
})

it('marks what happened within its times, in the graph and in a table', async () => {
  const markers = [{ at: from + 40, name: 'b2c3d4e', text: 'Applied revision 8' }, { at: from + 20, name: 'a1b2c3d', text: 'Applied revision 7: <script>alert(1)</script>' }, { at: from - 1, name: 'before', text: 'before' }, { at: from + 61, name: 'after', text: 'after' }]
  const { rerender, container } = render(<Chart title="Memory" unit="bytes" series={series} markers={markers} />)
  await mounted()
  expect(plot.marked.map((m) => m.name)).toEqual(['a1b2c3d', 'b2c3d4e'])
  const table = screen.getByRole('table', { name: 'Marked in Memory' })
  expect(within(table).getAllByRole('cell').map((c) => c.textContent)).toEqual(['Applied revision 7: <script>alert(1)</script>', 'Applied revision 8'])
  expect(container.querySelector('script')).toBe(null)
  rerender(<Chart title="Memory" unit="bytes" series={series} markers={[]} />)
  expect(plot.marked).toEqual([])
  expect(screen.queryByRole('table', { name: 'Marked in Memory' })).toBe(null)
})

it('hides a line by its name in the legend', async () => {
  render(<Chart title="Memory" unit="bytes" series={series} />)
  await mounted()
  const line = screen.getByRole('button', { name: /^web/ })
  fireEvent.click(line)
  expect(plot.hidden).toEqual(['web'])
  expect(line.getAttribute('aria-pressed')).toBe('false')
  fireEvent.click(line)
  expect(plot.hidden).toEqual([])
})

it('hides one of two lines that have one name', async () => {
  render(<Chart title="Memory" unit="bytes" series={gridOf(from, from + 60, 15, [1, 2].map((v) => ({ name: 'web', at: [from], values: [v * 1024] })))} />)
  await mounted()
  const [first, second] = screen.getAllByRole('button', { name: /^web/ })
  fireEvent.click(second!)
  expect([first, second].map((b) => b!.getAttribute('aria-pressed'))).toEqual(['true', 'false'])
  expect(plot.hidden).toEqual(['web #2'])
})

it('says that it is late, cut, empty, read or failed', async () => {
  const { rerender } = render(<Chart title="Memory" unit="bytes" series={series} behind={900} notes={['There is no x here.']} />)
  await mounted()
  expect(screen.getByText('15 m behind.')).toBeTruthy()
  expect(screen.getByText('There is no x here.')).toBeTruthy()
  const many = gridOf(from, from + 60, 15, Array.from({ length: 80 }, (_, n) => ({ name: `pod-${n}`, at: [from], values: [n] })))
  rerender(<Chart title="Memory" unit="bytes" series={many} found={100_000} behind={20} />)
  expect(screen.getByText(/^50 of 100,000 series/)).toBeTruthy()
  expect(screen.queryByText(/behind/)).toBe(null)
  expect(screen.getAllByRole('listitem')).toHaveLength(50)
  rerender(<Chart title="Memory" unit="bytes" series={{ times: [from], lines: [{ name: 'a', values: [null] }] }} />)
  expect(screen.getByText('No samples in this range')).toBeTruthy()
  rerender(<Chart title="Memory" unit="bytes" series={{ times: [from], lines: [] }} message="$pod has no value" />)
  expect(screen.getByText('$pod has no value')).toBeTruthy()
  rerender(<Chart title="Memory" unit="bytes" series={{ times: [from], lines: [] }} message="no data in this range" />)
  expect(screen.getByText('No data in this range')).toBeTruthy()
  expect(screen.queryByText(/well-formed/)).toBe(null)
  rerender(<Chart title="Memory" unit="bytes" series={undefined} />)
  expect(document.querySelector('[aria-busy="true"]')).toBeTruthy()
  const retry = vi.fn<() => void>()
  rerender(<Chart title="Memory" unit="bytes" series={undefined} error={new ConnectError('prometheus answered 503', Code.Unavailable)} retry={retry} />)
  expect(screen.getByRole('alert').textContent).toContain('prometheus answered 503')
  fireEvent.click(screen.getByRole('button', { name: 'Retry' }))
  expect(retry).toHaveBeenCalledTimes(1)
  cleanup()
  expect(plot.gone).toBe(plot.mounted.length)
})
