import type { ReactNode } from 'react'
import styles from './Table.module.css'

interface Props {
  // What the table shows, for people who hear the page.
  label: string
  // Column headings; an empty one needs hiddenHead.
  head: ReactNode[]
  children: ReactNode
}

// Table is a plain table for up to some hundred rows; DataGrid is for more.
export function Table({ label, head, children }: Props) {
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- wide tables scroll, also by keyboard
    <div className={styles.scroll} role="region" aria-label={label} tabIndex={0}>
      <table className={styles.table}>
        <thead>
          <tr>
            {head.map((h, i) => (
              // oxlint-disable-next-line react/no-array-index-key -- columns have no other name
              <th key={i} scope="col">
                {h}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}
