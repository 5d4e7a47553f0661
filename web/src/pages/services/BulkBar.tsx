import { type Action, verbs } from './actions'
import styles from './services.module.css'
import type { May } from '#/api/may'
import { Button } from '#/ds/Button'
import { MayNot } from '#/ds/Forbidden'
import { count, many } from '#/ds/Text'
import { type Selection, nobody, sizeOf } from '#/grid/select'

interface Props {
  selection: Selection
  // How many match the filter.
  total: number
  may: May
  onSelection: (s: Selection) => void
  onStart: (action: Action) => void
}

// BulkBar says what is selected, and what can be done with it.
export function BulkBar({ selection, total, may, onSelection, onStart }: Props) {
  const size = sizeOf(selection, total)
  if (size === 0) return null
  return (
    <div className={styles.bulk} role="region" aria-label="Selection">
      <strong aria-live="polite">{selection.all ? `All ${many(total, 'service')} that match` : `${count(size)} selected`}</strong>
      {!selection.all && total > size && (
        <button type="button" className={styles.link} onClick={() => onSelection({ all: true })}>
          Select all {count(total)} that match
        </button>
      )}
      <span className={styles.spring} />
      {may.allowed === false && <MayNot what="change services" reason={may.reason} />}
      {may.allowed === true && (Object.keys(verbs) as Action[]).map((action) => {
        const { label, icon, reason } = verbs[action]
        return (
          <Button key={action} icon={icon} onClick={() => onStart(action)}>
            {reason ? `${label}…` : label}
          </Button>
        )
      })}
      <Button variant="quiet" keys="Esc" onClick={() => onSelection(nobody)}>
        Clear
      </Button>
    </div>
  )
}
