import { type Meta, decode } from './object'

// Tables are lists with the columns that kubectl prints, made by the API server:
// also for kinds that nobody here knows.

export interface TableColumn {
  name: string
  type: string
  format: string
  description: string
  // 0 is always shown, more is for wide lists.
  priority: number
}

export interface TableRow {
  id: string
  meta: Meta
  cells: unknown[]
}

interface WireTable {
  kind?: string
  columnDefinitions?: Partial<TableColumn>[]
  rows?: { cells?: unknown[]; object?: { metadata?: Meta } }[]
  metadata?: { continue?: string; resourceVersion?: string; remainingItemCount?: number }
}

export interface Table {
  columns: TableColumn[]
  rows: TableRow[]
  more: string
  // How many more there are, where the server says so.
  remaining: number | undefined
  resourceVersion: string
}

// Annotations that lists look at; others may be large or hold copies of Secrets.
const kept = new Set(['axle-cd.github.io/service', 'axle-cd.github.io/tracking'])

function slim(meta: Meta | undefined, fallback: unknown): Meta {
  const { name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp, labels, ownerReferences, annotations } = meta ?? ({} as Meta)
  const few = Object.entries(annotations ?? {}).filter(([k]) => kept.has(k))
  return {
    name: name ?? String(fallback ?? ''),
    ...(namespace ? { namespace } : {}),
    ...(uid ? { uid } : {}),
    ...(resourceVersion ? { resourceVersion } : {}),
    ...(creationTimestamp ? { creationTimestamp } : {}),
    ...(deletionTimestamp ? { deletionTimestamp } : {}),
    ...(labels ? { labels } : {}),
    ...(ownerReferences ? { ownerReferences } : {}),
    ...(few.length ? { annotations: Object.fromEntries(few) } : {}),
  }
}

export function parseTable(json: Uint8Array): Table {
  const wire = decode<WireTable>(json)
  if (wire.kind !== 'Table') throw new Error(`The cluster sent ${wire.kind ?? 'something'} instead of a Table: its API server cannot show this kind as a list.`)
  const rows = (wire.rows ?? []).map(({ cells = [], object }) => {
    const meta = slim(object?.metadata, cells[0])
    return { id: meta.uid ?? `${meta.namespace ?? ''}/${meta.name}`, meta, cells }
  })
  return {
    // An event of a watch has its columns only in the first one.
    columns: (wire.columnDefinitions ?? []).map((c) => ({ name: c.name ?? '', type: c.type ?? 'string', format: c.format ?? '', description: c.description ?? '', priority: c.priority ?? 0 })),
    rows,
    more: wire.metadata?.continue ?? '',
    remaining: wire.metadata?.remainingItemCount,
    resourceVersion: wire.metadata?.resourceVersion ?? '',
  }
}

export function cellText(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : typeof value === 'object' ? JSON.stringify(value) : String(value)
}

// cellOf is the text in the column with this name.
export function cellOf(columns: TableColumn[], row: TableRow, name: string): string {
  const at = columns.findIndex((c) => c.name === name)
  return at < 0 ? '' : cellText(row.cells[at])
}

const spans = /^(?:(\d+)y)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?/

// compareCells orders numbers as numbers, "3/10" by its first number, ages as
// ages, and the rest as text with numbers in it.
export function compareCells(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  const x = cellText(a)
  const y = cellText(b)
  if (/^\d+(?:\.\d+)?(?:$|[/ ])/.test(x) && /^\d+(?:\.\d+)?(?:$|[/ ])/.test(y)) return Number.parseFloat(x) - Number.parseFloat(y)
  const s = secondsOf(x)
  const t = secondsOf(y)
  if (s !== undefined && t !== undefined) return s - t
  return order.compare(x, y)
}

const order = new Intl.Collator('en', { numeric: true })

function secondsOf(text: string): number | undefined {
  const parts = spans.exec(text)
  if (!text || !parts || parts[0].length !== text.length) return undefined
  const [, y = 0, d = 0, h = 0, m = 0, s = 0] = parts.map(Number).map((n) => (Number.isNaN(n) ? 0 : n))
  return (((y * 365 + d) * 24 + h) * 60 + m) * 60 + s
}
