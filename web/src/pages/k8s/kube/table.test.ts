// @vitest-environment jsdom
import { expect, test } from 'vitest'
import { applied, inOrder, type ListState } from '../list/LiveList'
import { matcher } from '../list/match'
import { workloadOf } from '../list/workloads'
import { type TableRow, cellOf, compareCells, parseTable } from './table'

const bytes = (value: unknown) => new TextEncoder().encode(JSON.stringify(value))

const wire = {
  kind: 'Table',
  apiVersion: 'meta.k8s.io/v1',
  metadata: { resourceVersion: '5', continue: 'more', remainingItemCount: 7 },
  columnDefinitions: [
    { name: 'Name', type: 'string', format: 'name', priority: 0 },
    { name: 'Ready', type: 'string', priority: 0 },
    { name: 'Status', type: 'string', priority: 0 },
    { name: 'Restarts', type: 'string', priority: 0 },
    { name: 'Node', type: 'string', priority: 1 },
  ],
  rows: [
    { cells: ['web-1', '1/1', 'Running', '2 (5m ago)', 'n1'], object: { metadata: { name: 'web-1', namespace: 'web', uid: 'u1', labels: { app: 'web' }, annotations: { 'kubectl.kubernetes.io/last-applied-configuration': 'secret-canary', 'axle-cd.github.io/service': 'svc-1' }, managedFields: [{ manager: 'x' }] } } },
    { cells: ['web-2', '0/1', 'CrashLoopBackOff', 0, null], object: { metadata: { name: 'web-2', namespace: 'web', uid: 'u2', ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'r', uid: 'r1' }] } } },
    { cells: ['bare'] },
  ],
}

test('a Table has its columns, rows and what comes next', () => {
  const table = parseTable(bytes(wire))
  expect(table.columns.map((c) => [c.name, c.priority])).toEqual([['Name', 0], ['Ready', 0], ['Status', 0], ['Restarts', 0], ['Node', 1]])
  expect(table).toMatchObject({ more: 'more', remaining: 7, resourceVersion: '5' })
  expect(table.rows.map((r) => r.id)).toEqual(['u1', 'u2', '/bare'])
  expect(cellOf(table.columns, table.rows[1]!, 'Status')).toBe('CrashLoopBackOff')
  expect(cellOf(table.columns, table.rows[1]!, 'Node')).toBe('')
  expect(cellOf(table.columns, table.rows[1]!, 'Nothing')).toBe('')
})

test('a row keeps no annotation that may copy the object', () => {
  const [row] = parseTable(bytes(wire)).rows
  expect(JSON.stringify(row)).not.toContain('secret-canary')
  expect(JSON.stringify(row)).not.toContain('managedFields')
  expect(row?.meta.annotations).toEqual({ 'axle-cd.github.io/service': 'svc-1' })
})

test('what is no Table is said so', () => {
  expect(() => parseTable(bytes({ kind: 'PodList', items: [] }))).toThrow('PodList instead of a Table')
})

test.each([
  [[10, 9, 100], [9, 10, 100]],
  [['2/10', '10/10', '1/3'], ['1/3', '2/10', '10/10']],
  [['5m', '2d3h', '40s', '1y'], ['40s', '5m', '2d3h', '1y']],
  [['b10', 'b9', 'a'], ['a', 'b9', 'b10']],
  [['3 (2d ago)', '12', '0'], ['0', '3 (2d ago)', '12']],
])('cells are ordered as people mean them: %j', (given, wanted) => {
  expect((given as unknown[]).toSorted(compareCells)).toEqual(wanted)
})

const row = (id: string, name = id): TableRow => ({ id, meta: { name, namespace: 'a' }, cells: [name] })
const state = (rows: TableRow[]): ListState => ({ columns: [], rows, gone: new Set(), changed: 0, loading: false, loadingMore: false, error: undefined, more: '', remaining: undefined, live: 'live' })

test('a change never moves a row: it is replaced, marked, or comes at the end', () => {
  const before = state([row('1', 'b'), row('2', 'c'), row('3', 'd')])
  const after = applied(before, new Map([['2', { row: row('2', 'a'), deleted: false }], ['3', { row: row('3'), deleted: true }], ['4', { row: row('4', 'aa'), deleted: false }]]))
  expect(after.rows.map((r) => [r.id, r.meta.name])).toEqual([['1', 'b'], ['2', 'a'], ['3', 'd'], ['4', 'aa']])
  expect([...after.gone]).toEqual(['3'])
  expect(after.changed).toBe(2)
  const again = applied({ ...before, ...after }, new Map([['3', { row: row('3', 'd'), deleted: false }]]))
  expect(again.gone.size).toBe(0)
  expect(inOrder(after.rows).map((r) => r.meta.name)).toEqual(['a', 'aa', 'b', 'd'])
})

test('a filter looks at names, labels and cells, and excludes', () => {
  const { rows } = parseTable(bytes(wire))
  const names = (text: string) => rows.filter(matcher(text)).map((r) => r.meta.name)
  expect(names('')).toHaveLength(3)
  expect(names('crash')).toEqual(['web-2'])
  expect(names('app=web')).toEqual(['web-1'])
  expect(names('web !crash')).toEqual(['web-1'])
  expect(names('!')).toHaveLength(3)
})

test('workloads leave out what another workload made', () => {
  const { columns, rows } = parseTable(bytes(wire))
  const of = (i: number) => workloadOf('Pod', { group: '', version: 'v1', resource: 'pods' }, columns, rows[i]!)
  expect(of(0)).toMatchObject({ word: 'Healthy', state: 'Running', detail: '2 restarts (5m ago)' })
  expect(of(1)).toBeUndefined()
})
