import { memo } from 'react'
import type { Column } from './layout'
import styles from './DataGrid.module.css'
import { Skeleton } from '#/ds/Skeleton'

interface Props<Row> {
  index: number
  row: Row | undefined
  id: string
  top: number
  columns: Column<Row>[]
  // There is room for two lines.
  high: boolean
  active: boolean
  selected: boolean | undefined
  // It changed and no longer matches the filter.
  off: boolean
  peeked: boolean
  onActive: (index: number) => void
  onToggle: (index: number, range: boolean) => void
  onActions: ((index: number, at: Element) => void) | undefined
}

function Inner<Row>({ index, row, id, top, columns, high, active, selected, off, peeked, onActive, onToggle, onActions }: Props<Row>) {
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-selected={selected}
      data-index={index}
      data-id={id}
      data-active={active || undefined}
      data-off={off || undefined}
      data-peeked={peeked || undefined}
      tabIndex={active ? 0 : -1}
      className={styles.row}
      style={{ transform: `translateY(${top}px)` }}
      onFocus={() => onActive(index)}
    >
      {selected === undefined ? (
        <span />
      ) : (
        <div role="gridcell" className={styles.check}>
          {row !== undefined && <input type="checkbox" tabIndex={-1} checked={selected} aria-label="Select" readOnly onClick={(e) => onToggle(index, e.shiftKey)} />}
        </div>
      )}
      {columns.map((c) => (
        <div key={c.id} role="gridcell" className={styles.cell} data-align={c.align}>
          {row === undefined ? <Skeleton width={`${50 + ((index * 37 + c.id.length * 13) % 40)}%`} /> : <Cell column={c} columns={columns} row={row} high={high} />}
        </div>
      ))}
      <div role="gridcell" className={styles.end}>
        {off && <span className="visually-hidden">no longer matches the filter</span>}
        {onActions && row !== undefined && (
          <button type="button" tabIndex={-1} className={styles.more} aria-label="Actions" title="Actions" onClick={(e) => onActions(index, e.currentTarget)}>
            ⋯
          </button>
        )}
      </div>
    </div>
  )
}

function Cell<Row>({ column, columns, row, high }: { column: Column<Row>; columns: Column<Row>[]; row: Row; high: boolean }) {
  const { under } = column
  if (!under || !high || columns.some((c) => c.id === under.id)) {
    const content = column.cell(row)
    // Text of its own has no element that could end it with dots.
    return typeof content === 'string' ? <span>{content}</span> : content
  }
  return (
    <div className={styles.two}>
      <span>{column.cell(row)}</span>
      <span className={styles.under}>{under.cell(row)}</span>
    </div>
  )
}

export const GridRow = memo(Inner) as typeof Inner
