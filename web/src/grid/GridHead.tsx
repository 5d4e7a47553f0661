import { ArrowDown, ArrowUp } from 'lucide-react'
import styles from './DataGrid.module.css'
import { type Column, nextSort } from './layout'

interface Props<Row> {
  columns: Column<Row>[]
  sort: string
  onSort: ((sort: string) => void) | undefined
  // The checkbox that selects the rows on the screen.
  selected: boolean | undefined
  onSelectPage: () => void
}

export function GridHead<Row>({ columns, sort, onSort, selected, onSelectPage }: Props<Row>) {
  return (
    <div role="row" aria-rowindex={1} className={styles.head}>
      {selected === undefined ? (
        <span />
      ) : (
        <div role="columnheader" className={styles.check}>
          <input type="checkbox" checked={selected} readOnly aria-label="Select the rows on the screen" onClick={onSelectPage} />
        </div>
      )}
      {columns.map((c) => {
        const up = c.sort !== undefined && sort === c.sort
        const down = c.sort !== undefined && sort === `-${c.sort}`
        const sortable = onSort && c.sort !== undefined
        return (
          <div key={c.id} role="columnheader" className={styles.cell} data-align={c.align} aria-sort={up ? 'ascending' : down ? 'descending' : undefined}>
            {sortable ? (
              <button type="button" className={styles.sort} onClick={() => onSort(nextSort(sort, c.sort!))}>
                <span>{c.header}</span>
                {up && <ArrowUp size={12} aria-hidden />}
                {down && <ArrowDown size={12} aria-hidden />}
              </button>
            ) : (
              <span>{c.header}</span>
            )}
          </div>
        )
      })}
      <div role="columnheader" className={styles.end}>
        <span className="visually-hidden">Actions</span>
      </div>
    </div>
  )
}
