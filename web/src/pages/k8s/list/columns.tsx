import { Link } from '@tanstack/react-router'
import styles from '../kube/Kube.module.css'
import { objectPath } from '../kube/gvr'
import type { GVR } from '../kube/gvr'
import { micros } from '../kube/object'
import { type TableColumn, type TableRow, cellText } from '../kube/table'
import { readyOf, stateOf } from '../kube/words'
import type { Column } from '#/grid/layout'
import { Age } from '#/status/Age'
import { Status } from '#/status/Status'

export function NameLink({ to, name, gone }: { to: string; name: string; gone?: boolean }) {
  return gone ? (
    <span className={styles.name} title={`${name}: deleted`}>
      {name}
    </span>
  ) : (
    <Link to={to as string} className={styles.name ?? ''} title={name} tabIndex={-1}>
      {name}
    </Link>
  )
}

const states = new Set(['Status', 'Phase', 'State', 'Health', 'Type of event'])

export function StateCell({ text }: { text: string }) {
  return text ? <Status word={stateOf(text)} label={text} title={text} /> : null
}

export function ReadyCell({ text }: { text: string }) {
  const ready = readyOf(text)
  if (!ready) return <>{text}</>
  const word = ready.wanted === 0 ? 'Paused' : ready.ready >= ready.wanted ? 'Healthy' : 'Degraded'
  return <Status word={word} label={text} title={ready.wanted === 0 ? 'scaled to 0' : `${ready.ready} of ${ready.wanted} ready`} />
}

function cell(column: TableColumn, text: string) {
  if (states.has(column.name)) return <StateCell text={text} />
  if (column.name === 'Ready' && readyOf(text)) return <ReadyCell text={text} />
  return <span title={text}>{text}</span>
}

function widthOf(column: TableColumn, texts: string[]): number {
  const icon = states.has(column.name) || column.name === 'Ready' ? 22 : 0
  const longest = texts.reduce((n, t) => Math.max(n, t.length), column.name.length + 1)
  return Math.min(260, Math.max(64, Math.round(longest * 6.6) + 24 + icon))
}

// tableColumns are the grid's columns for a Table of the API server.
export function tableColumns(input: { cluster: string; gvr: GVR; columns: TableColumn[]; rows: TableRow[]; wide: boolean; namespaces: boolean; gone: ReadonlySet<string> }): Column<TableRow>[] {
  const { cluster, gvr, columns, rows, wide, namespaces, gone } = input
  const sample = rows.slice(0, 100)
  const shown = columns.map((column, index) => ({ column, index })).filter(({ column, index }) => index > 0 && column.name !== 'Age' && (wide || column.priority === 0))
  const made: Column<TableRow>[] = [
    { id: 'name', header: 'Name', min: 150, grow: 3, sort: 'Name', cell: (r) => <NameLink name={r.meta.name} gone={gone.has(r.id)} to={objectPath(cluster, gvr, r.meta.namespace ?? '', r.meta.name)} /> },
  ]
  if (namespaces) made.push({ id: 'namespace', header: 'Namespace', min: 130, grow: 1, drop: 3, sort: 'Namespace', cell: (r) => <span title={r.meta.namespace}>{r.meta.namespace}</span> })
  shown.forEach(({ column, index }, i) => {
    const texts = sample.map((r) => cellText(r.cells[index]))
    const state = states.has(column.name) || column.name === 'Ready'
    made.push({
      id: `c${index}`,
      header: column.name,
      min: widthOf(column, texts),
      drop: column.name === 'Ready' ? 2 : state ? 1 : 4 + i,
      sort: column.name,
      ...(column.type === 'integer' || column.type === 'number' ? { align: 'end' as const } : {}),
      cell: (r) => cell(column, cellText(r.cells[index])),
    })
  })
  made.push({ id: 'age', header: 'Age', min: 72, drop: 2, sort: 'Age', align: 'end', cell: (r) => (r.meta.creationTimestamp ? <Age at={micros(r.meta.creationTimestamp)} /> : null) })
  return made
}

// sortValue is what a row is sorted by.
export function sortValue(columns: TableColumn[]): (row: TableRow, column: string) => unknown {
  return (row, name) => {
    if (name === 'Name') return row.meta.name
    if (name === 'Namespace') return row.meta.namespace ?? ''
    // The oldest first, as ages go up.
    if (name === 'Age') return -Date.parse(row.meta.creationTimestamp ?? '') || 0
    return row.cells[columns.findIndex((c) => c.name === name)]
  }
}
