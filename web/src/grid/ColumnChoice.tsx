import { Columns3 } from 'lucide-react'
import buttons from '#/ds/Button.module.css'
import { Checkbox } from '#/ds/Form'
import { Drop } from '#/ds/Drop'
import type { Column } from './layout'
import styles from './ColumnChoice.module.css'

interface Props<Row> {
  columns: Column<Row>[]
  // Ids, or none for the usual ones.
  shown: string[]
  onShown: (ids: string[]) => void
}

export function ColumnChoice<Row>({ columns, shown, onShown }: Props<Row>) {
  const on = (c: Column<Row>) => (shown.length ? shown.includes(c.id) : !c.optional)
  return (
    <Drop label="Columns" inside="Columns" align="end" width={200} className={buttons.icon ?? ''} button={<Columns3 size={16} aria-hidden />}>
      <div className={styles.list}>
        {columns.map((c) => (
          <Checkbox key={c.id} label={c.header} checked={on(c)} disabled={(c.drop ?? 0) === 0} onChange={(checked) => onShown(columns.filter((o) => (o.id === c.id ? checked : on(o))).map((o) => o.id))} />
        ))}
        {shown.length > 0 && (
          <button type="button" className={styles.reset} onClick={() => onShown([])}>
            The usual columns
          </button>
        )}
      </div>
    </Drop>
  )
}
