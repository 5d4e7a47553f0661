import { RotateCw } from 'lucide-react'
import { type KeyboardEvent, type ReactElement, type ReactNode, Suspense, lazy, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import styles from './DataGrid.module.css'
import { GridHead } from './GridHead'
import { GridRow } from './GridRow'
import { type Column, edgeWidth, fitting, template } from './layout'
import { rowAfter } from './navigate'
import { type Selection, add, isSelected, nobody, sizeOf, toggle } from './select'
import type { Source } from './source'
import { usePlace } from './place'
import { useSize } from './useSize'
import { overscan, scrollTo, visibleRows } from './window'
import { hidden, problemOf } from '#/api/errors'
import { useKeys } from '#/app/useKeys'
import { usePreferences } from '#/app/preferences'
import { Button } from '#/ds/Button'
import { Empty, ErrorPanel } from '#/ds/State'
import { count } from '#/ds/Text'
import type { Item } from '#/ds/Menu'

const MenuAt = lazy(() => import('#/ds/Menu').then((m) => ({ default: m.MenuAt })))

export interface GridProps<Row> {
  // What the rows are: "Clusters".
  label: string
  source: Source<Row>
  columns: Column<Row>[]
  idOf: (row: Row) => string
  // Opens a row.
  onOpen?: (row: Row) => void
  sort?: string
  onSort?: (sort: string) => void
  selection?: Selection
  onSelection?: (s: Selection) => void
  actions?: (row: Row) => Item[]
  // The row shown in the side panel, and how to change it.
  peek?: string | undefined
  onPeek?: (row: Row | undefined) => void
  // Instead of rows when there are none.
  empty: ReactNode
  // As high as its rows, up to this, instead of filling the page.
  maxHeight?: number
}

// DataGrid is a windowed ARIA grid; see the README beside it.
export function DataGrid<Row>(props: GridProps<Row>) {
  const { label, source, columns, idOf, onOpen, sort = '', onSort, selection, onSelection, actions, peek, onPeek, empty, maxHeight } = props
  const body = useRef<HTMLDivElement>(null)
  const { width, height: inner } = useSize(body)
  // The head lies over the first rows: what is left is the rows'.
  const [head, setHead] = useState(0)
  const height = Math.max(0, inner - head)
  const { density } = usePreferences()
  const [rowHeight, setRowHeight] = useState(32)
  const [firstRow, setFirstRow] = useState(0)
  const { left, note } = usePlace(label)
  const [active, setActive] = useState(left.active ?? 0)
  // The active row of this moment: an effect of an earlier render may run after a key.
  const now = useRef(active)
  const activate = useCallback((to: number) => {
    now.current = to
    setActive(to)
  }, [])
  const back = useRef(left.top ?? 0)
  // Read where it changes: asking the element while drawing costs a layout.
  const scrolled = useRef(0)
  const [anchor, setAnchor] = useState(0)
  const [menu, setMenu] = useState<{ row: Row; at: Element } | undefined>()
  const menuAt = useRef<Element>(null)
  const wantsFocus = useRef(false)

  useLayoutEffect(() => {
    const read = Number.parseFloat(getComputedStyle(document.documentElement).getPropertyValue('--row'))
    if (read > 0) setRowHeight(read)
    setHead(body.current?.querySelector<HTMLElement>('[aria-rowindex="1"]')?.offsetHeight ?? 0)
  }, [density, width])

  const { total } = source
  const range = visibleRows(firstRow * rowHeight, (height || 600) + rowHeight, rowHeight, total)
  const { show } = source
  useEffect(() => show({ from: range.from, to: range.to }), [show, range.from, range.to])
  useEffect(() => {
    if (active >= total && total > 0) activate(total - 1)
  }, [active, total, activate])

  // A list that becomes lower, as by the bar of a selection, keeps the row in use in sight.
  const was = useRef(height)
  useLayoutEffect(() => {
    const before = was.current
    was.current = height
    if (height === 0 || height >= before || !body.current) return
    const seen = scrollTo(now.current, scrolled.current, before, rowHeight) === undefined
    const top = scrollTo(now.current, scrolled.current, height, rowHeight)
    if (!seen || top === undefined) return
    scrolled.current = body.current.scrollTop = top
    setFirstRow(Math.floor(top / rowHeight))
  }, [height, rowHeight])

  // Back goes to the place that was left, once there are rows to scroll.
  useLayoutEffect(() => {
    const grid = body.current
    if (back.current > 0 && (!grid || height === 0 || total === 0)) return
    if (back.current > 0 && grid) {
      scrolled.current = grid.scrollTop = back.current * rowHeight
      setFirstRow(Math.floor(scrolled.current / rowHeight))
      back.current = 0
    }
    note({ active, top: scrolled.current / rowHeight })
    // A source is new at every change of filter and order, and each is another entry of the history.
  }, [note, active, firstRow, height, rowHeight, total, source])

  const edge = edgeWidth(onSelection !== undefined, rowHeight)
  const shownColumns = useMemo(() => (width ? fitting(columns, width, edge) : columns), [columns, width, edge])
  const go = useCallback(
    (to: number | undefined) => {
      if (to === undefined || to < 0) return
      const top = scrollTo(to, body.current?.scrollTop ?? 0, height, rowHeight)
      if (top !== undefined && body.current) {
        scrolled.current = body.current.scrollTop = top
        setFirstRow(Math.floor(top / rowHeight))
      }
      // A row that is drawn takes the focus at once: when it is the active one
      // already, nothing renders again.
      const row = body.current?.querySelector<HTMLElement>(`[data-index="${to}"]`)
      row?.focus({ preventScroll: true })
      wantsFocus.current = !row
      activate(to)
    },
    [height, rowHeight, activate],
  )
  useEffect(() => {
    const focused = document.activeElement
    if (wantsFocus.current) {
      const row = body.current?.querySelector<HTMLElement>(`[data-index="${now.current}"]`)
      wantsFocus.current = !row && active !== now.current
      row?.focus({ preventScroll: true })
    } else if (focused instanceof HTMLElement && focused.dataset['index'] !== undefined && focused.dataset['index'] !== String(now.current) && body.current?.contains(focused)) {
      // Its element shows another row now: the grid itself keeps the focus.
      body.current.focus({ preventScroll: true })
    }
  })

  const rowOf = (i: number) => source.rowAt(i)
  // Rows keep their handlers, so that a scroll draws only what is new.
  const latest = useRef({ selection, onSelection, source, anchor, idOf })
  useEffect(() => {
    latest.current = { selection, onSelection, source, anchor, idOf }
  })
  const choose = useCallback((index: number, ranged: boolean) => {
    const { selection, onSelection, source, anchor, idOf } = latest.current
    const row = source.rowAt(index)
    if (!selection || !onSelection || !row) return
    if (ranged) {
      const ids = []
      for (let i = Math.min(anchor, index); i <= Math.max(anchor, index); i++) {
        const r = source.rowAt(i)
        if (r) ids.push(idOf(r))
      }
      onSelection(add(selection, ids))
    } else onSelection(toggle(selection, idOf(row)))
    setAnchor(index)
  }, [])
  const openMenu = useCallback((index: number, at: Element) => {
    const row = latest.current.source.rowAt(index)
    if (!row) return
    menuAt.current = at
    setMenu({ row, at })
  }, [])
  const peekAt = (i: number) => {
    const row = rowOf(i)
    if (row && onPeek) onPeek(peek === idOf(row) ? undefined : row)
  }
  // What acts on the active row works from anywhere on the page, once a row is.
  const step = (key: 'j' | 'k') => () => {
    const inside = body.current?.contains(document.activeElement)
    const to = inside ? rowAfter(key, active, total, 0) : active
    go(to)
    const row = to === undefined ? undefined : rowOf(to)
    if (peek !== undefined && row) onPeek?.(row)
  }
  useKeys(
    'List',
    [
      { keys: 'j', does: 'next row', run: step('j') },
      { keys: 'k', does: 'previous row', run: step('k') },
      ...(onSelection ? [{ keys: 'x', does: 'select the row', run: () => choose(active, false) }, { keys: 'Shift+x', does: 'select up to the row', run: () => choose(active, true) }] : []),
      ...(onPeek ? [{ keys: 'o', does: 'look at the row beside the list', run: () => peekAt(active) }] : []),
      ...(actions ? [{ keys: '.', does: 'actions of the row', run: () => openMenu(active, body.current?.querySelector(`[data-index="${active}"]`) ?? document.body) }] : []),
      { keys: 'r', does: 'refresh the order', run: source.refresh },
      {
        keys: 'Escape',
        does: 'close, then clear the selection',
        run: () => {
          if (peek !== undefined) onPeek?.(undefined)
          else if (selection && sizeOf(selection, total) > 0) onSelection?.(nobody)
        },
      },
    ],
    total > 0,
  )

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey || !(event.target instanceof HTMLElement) || event.target.getAttribute('role') !== 'row') return
    const row = rowOf(active)
    if (event.key === 'Enter' && row && onOpen) onOpen(row)
    else if (event.key === ' ' && onSelection) choose(active, event.shiftKey)
    else {
      const to = event.key.length > 1 ? rowAfter(event.key, active, total, Math.floor(height / rowHeight)) : undefined
      if (to === undefined) return
      if (event.shiftKey && selection && onSelection && to !== active) onSelection(add(selection, [row, rowOf(to)].flatMap((r) => (r ? [idOf(r)] : []))))
      go(to)
    }
    event.preventDefault()
    event.stopPropagation()
  }
  const rows: ReactElement<{ row: Row | undefined; id: string }>[] = []
  const pool = Math.ceil((height || 600) / rowHeight) + 3 + 2 * overscan
  for (let i = range.from; i < range.to; i++) {
    const row = rowOf(i)
    const id = row ? idOf(row) : ''
    rows.push(
      <GridRow
        // Elements are used again for other rows: that is faster than making new ones.
        key={i % pool}
        index={i}
        row={row}
        id={id}
        top={i * rowHeight}
        columns={shownColumns}
        high={rowHeight >= 40}
        active={i === active}
        selected={onSelection ? row !== undefined && isSelected(selection ?? nobody, id) : undefined}
        off={row !== undefined && !source.matches(row)}
        peeked={peek !== undefined && peek === id}
        onActive={activate}
        onToggle={choose}
        onActions={actions ? openMenu : undefined}
      />,
    )
  }
  const visibleIds = () => rows.flatMap((r) => (r.props.row === undefined ? [] : [r.props.id]))
  const allVisible = selection !== undefined && rows.length > 0 && rows.every((r) => r.props.row === undefined || isSelected(selection, r.props.id))
  const busy = source.loading && total === 0
  const nothing = !busy && total === 0
  return (
    <div className={styles.wrap} data-fill={maxHeight === undefined || undefined} style={maxHeight === undefined ? undefined : { height: Math.min(maxHeight, (rowHeight >= 40 ? 46 : 34) + Math.max(1, total) * rowHeight) }}>
      {source.error !== undefined && source.error !== null && (hidden(source.error) ? <Empty title={`No ${label.toLowerCase()} that you may see`}>{problemOf(source.error).message}</Empty> : <ErrorPanel title={`Can't read: ${label}`} error={source.error} retry={source.retry} />)}
      {source.changed > 0 && (
        <div className={styles.pill}>
          <Button icon={RotateCw} keys="r" onClick={source.refresh}>
            {count(source.changed)} changed · Refresh
          </Button>
        </div>
      )}
      {nothing ? (
        !source.error && empty
      ) : (
        <div
          ref={body}
          role="grid"
          aria-label={label}
          aria-rowcount={busy ? -1 : total + 1}
          aria-multiselectable={onSelection ? true : undefined}
          aria-busy={busy || source.stale || undefined}
          tabIndex={active >= range.from && active < range.to ? -1 : 0}
          className={styles.grid}
          data-stale={source.stale || undefined}
          onScroll={(e) => {
            scrolled.current = e.currentTarget.scrollTop
            setFirstRow(Math.floor(scrolled.current / rowHeight))
          }}
          onKeyDown={onKeyDown}
          onFocus={(e) => e.target === e.currentTarget && active >= range.from && active < range.to && go(active)}
          style={{ '--columns': template(shownColumns, edge), '--row': `${rowHeight}px` } as React.CSSProperties}
        >
          <GridHead columns={shownColumns} sort={sort} onSort={onSort} selected={onSelection ? allVisible : undefined} onSelectPage={() => onSelection?.(allVisible ? nobody : add(selection ?? nobody, visibleIds()))} />
          <div role="rowgroup" className={styles.rows} style={{ height: busy ? 12 * rowHeight : total * rowHeight }}>
            {busy ? Array.from({ length: 12 }, (_, i) => <GridRow key={i} index={i} row={undefined} id="" top={i * rowHeight} columns={shownColumns} high={false} active={i === 0} selected={undefined} off={false} peeked={false} onActive={() => {}} onToggle={() => {}} onActions={undefined} />) : rows}
          </div>
        </div>
      )}
      {menu && actions && (
        <Suspense fallback={null}>
          <MenuAt label="Actions" items={actions(menu.row)} at={menuAt} onClose={() => setMenu(undefined)} />
        </Suspense>
      )}
    </div>
  )
}
