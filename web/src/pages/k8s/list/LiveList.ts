import { type Place, objectsOf } from '../kube/calls'
import { type Liveness, follow } from '../kube/follow'
import { type Table, type TableColumn, type TableRow, parseTable } from '../kube/table'
import { unary } from '#/api/call'
import { ClusterAPI } from '#/api/gen/hub/v1/proxy_pb'

export interface ListState {
  columns: TableColumn[]
  // In the order in which they are shown: a row never moves by itself. What is
  // new comes at the end.
  rows: TableRow[]
  // Rows that were deleted since, by id.
  gone: ReadonlySet<string>
  // How many came or went since the order was made.
  changed: number
  loading: boolean
  loadingMore: boolean
  error: unknown
  // The token for the next page; empty when everything is here.
  more: string
  remaining: number | undefined
  live: Liveness | undefined
}

const empty: ListState = { columns: [], rows: [], gone: new Set(), changed: 0, loading: true, loadingMore: false, error: undefined, more: '', remaining: undefined, live: undefined }

export const pageLimit = 500
const settle = 250

export type Selectors = { labelSelector?: string; fieldSelector?: string }

// LiveList is one kind's list of a cluster: the first 500, more when asked, and
// what changes. It is a store of its own, so that a hundred events a second are
// four renderings.
export class LiveList {
  private state = empty
  private listeners = new Set<() => void>()
  private abort: AbortController | undefined
  private waiting: Map<string, { row: TableRow; deleted: boolean }> = new Map()
  private timer: ReturnType<typeof setTimeout> | undefined

  constructor(
    private place: Place,
    private selectors: Selectors = {},
  ) {}

  snapshot = (): ListState => this.state

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    if (this.listeners.size === 1) this.start()
    return () => {
      this.listeners.delete(listener)
      if (this.listeners.size === 0) this.stop()
    }
  }

  private set(change: Partial<ListState>): void {
    this.state = { ...this.state, ...change }
    for (const listener of this.listeners) listener()
  }

  private start(): void {
    const abort = (this.abort = new AbortController())
    const { signal } = abort
    void this.read(signal, true).then(
      (version) => {
        if (signal.aborted) return undefined
        return follow({ place: this.place, ...this.selectors, table: true, read: (s) => this.read(s, false), onEvent: (type, json) => this.onEvent(type, json), onState: (live) => this.set({ live }) }, version, signal)
      },
      (error: unknown) => signal.aborted || this.set({ error, loading: false }),
    )
  }

  private stop(): void {
    this.abort?.abort()
    clearTimeout(this.timer)
    this.timer = undefined
    this.waiting.clear()
  }

  // retry reads again after an error.
  retry = (): void => {
    this.stop()
    this.set({ error: undefined, loading: this.state.rows.length === 0 })
    this.start()
  }

  // refresh makes the order anew, of what is known.
  refresh = (): void => {
    this.flush()
    const rows = this.state.rows.filter((r) => !this.state.gone.has(r.id))
    this.set({ rows: inOrder(rows), gone: new Set(), changed: 0 })
  }

  private page(token: string, signal?: AbortSignal): Promise<Table> {
    return unary(ClusterAPI.method.listObjects, { objects: objectsOf(this.place, this.selectors), limit: BigInt(pageLimit), continue: token, table: true }, signal).then((a) => parseTable(a.json))
  }

  private async read(signal: AbortSignal, fresh: boolean): Promise<string> {
    const table = await this.page('', signal)
    if (signal.aborted) return ''
    if (fresh || this.state.rows.length === 0) {
      this.set({ columns: table.columns, rows: table.rows, gone: new Set(), changed: 0, loading: false, error: undefined, more: table.more, remaining: table.remaining })
    } else this.merge(table)
    return table.resourceVersion
  }

  // merge takes a list that was read again as if each difference had been an event.
  private merge(table: Table): void {
    const now = new Set(table.rows.map((r) => r.id))
    for (const row of table.rows) this.waiting.set(row.id, { row, deleted: false })
    // With pages to come, a row that is not in the first one may be in the others.
    if (!table.more) for (const row of this.state.rows) if (!now.has(row.id)) this.waiting.set(row.id, { row, deleted: true })
    this.set({ error: undefined, loading: false })
    this.flush()
  }

  loadMore = async (): Promise<void> => {
    const { more, loadingMore } = this.state
    if (!more || loadingMore) return
    this.set({ loadingMore: true })
    try {
      const table = await this.page(more, this.abort?.signal)
      const known = new Set(this.state.rows.map((r) => r.id))
      this.set({ rows: [...this.state.rows, ...table.rows.filter((r) => !known.has(r.id))], more: table.more, remaining: table.remaining, loadingMore: false })
    } catch (error) {
      this.set({ loadingMore: false, error })
    }
  }

  private onEvent(type: string, json: Uint8Array): void {
    const [row] = parseTable(json).rows
    if (!row) return
    const known = this.state.rows.some((r) => r.id === row.id) || this.waiting.has(row.id)
    if (!known && (type === 'DELETED' || (type === 'MODIFIED' && this.state.more))) return
    this.waiting.set(row.id, { row, deleted: type === 'DELETED' })
    this.timer ??= setTimeout(() => this.flush(), settle)
  }

  private flush(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    if (this.waiting.size === 0) return
    this.set(applied(this.state, this.waiting))
    this.waiting = new Map()
  }
}

// applied is a list after changes: rows are replaced where they are, new ones
// come at the end, deleted ones stay and are marked.
export function applied(state: ListState, changes: ReadonlyMap<string, { row: TableRow; deleted: boolean }>): Pick<ListState, 'rows' | 'gone' | 'changed'> {
  const gone = new Set(state.gone)
  let { changed } = state
  const left = new Map(changes)
  const rows = state.rows.map((row) => {
    const change = left.get(row.id)
    if (!change) return row
    left.delete(row.id)
    if (change.deleted && !gone.has(row.id)) {
      gone.add(row.id)
      changed++
    } else if (!change.deleted) gone.delete(row.id)
    return change.deleted ? row : change.row
  })
  for (const { row, deleted } of left.values()) {
    if (deleted) continue
    rows.push(row)
    changed++
  }
  return { rows, gone, changed }
}

const names = new Intl.Collator('en', { numeric: true })

// inOrder is the API server's order: by namespace, then by name.
export function inOrder(rows: TableRow[]): TableRow[] {
  return rows.toSorted((a, b) => names.compare(a.meta.namespace ?? '', b.meta.namespace ?? '') || names.compare(a.meta.name, b.meta.name))
}
