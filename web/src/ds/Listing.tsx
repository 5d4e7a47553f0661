import { type ReactNode, useState } from 'react'
import { Button } from './Button'
import styles from './Listing.module.css'
import { Skeleton } from './Skeleton'
import { ErrorPanel } from './State'
import { count } from './Text'

export interface Col<Row> {
  id: string
  header: string
  cell: (row: Row) => ReactNode
  align?: 'end'
  // Takes the room that is left.
  grow?: boolean
}

interface Props<Row> {
  // What the rows are: "Users".
  label: string
  cols: Col<Row>[]
  rows: Row[] | undefined
  idOf: (row: Row) => string
  error?: unknown
  retry?: () => void
  // Instead of rows when there are none.
  empty: ReactNode
  // Buttons at the end of a row.
  actions?: (row: Row) => ReactNode
}

const step = 200

// Listing is a table of up to some hundred rows that becomes cards where there
// is no room for columns; DataGrid is for lists of any length.
export function Listing<Row>({ label, cols, rows, idOf, error, retry, empty, actions }: Props<Row>) {
  const [shown, setShown] = useState(step)
  const failed = error !== undefined && error !== null
  if (!rows && failed) {
    return (
      <div className={styles.pad}>
        <ErrorPanel title={`Can't read: ${label}`} error={error} retry={retry} />
      </div>
    )
  }
  if (rows?.length === 0) return <>{empty}</>
  return (
    <>
      {failed && (
        <div className={styles.pad}>
          <ErrorPanel title={`Can't read again: ${label}`} error={error} retry={retry} />
        </div>
      )}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- wide tables scroll, also by keyboard */}
      <div className={styles.scroll} role="region" aria-label={`${label}, table`} tabIndex={0} aria-busy={!rows || undefined}>
        <table className={styles.table}>
          <thead>
            <tr>
              {cols.map((c) => (
                <th key={c.id} scope="col" data-align={c.align} data-grow={c.grow || undefined}>
                  {c.header}
                </th>
              ))}
              {actions && (
                <th scope="col">
                  <span className="visually-hidden">Actions</span>
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {rows
              ? rows.slice(0, shown).map((row) => (
                  <tr key={idOf(row)}>
                    {cols.map((c) => (
                      <td key={c.id} data-label={c.header} data-align={c.align} data-grow={c.grow || undefined}>
                        <div className={styles.value}>{c.cell(row)}</div>
                      </td>
                    ))}
                    {actions && (
                      <td className={styles.actions}>
                        <div className={styles.buttons}>{actions(row)}</div>
                      </td>
                    )}
                  </tr>
                ))
              : [0, 1, 2].map((i) => (
                  <tr key={i}>
                    {cols.map((c) => (
                      <td key={c.id} data-label={c.header}>
                        <Skeleton width={`${50 + ((i * 37 + c.id.length * 13) % 40)}%`} />
                      </td>
                    ))}
                    {actions && <td aria-hidden />}
                  </tr>
                ))}
          </tbody>
        </table>
      </div>
      {rows && rows.length > shown && (
        <div className={styles.pad}>
          <Button onClick={() => setShown(shown + step)}>
            Show {count(Math.min(step, rows.length - shown))} more of {count(rows.length)}
          </Button>
        </div>
      )}
    </>
  )
}
