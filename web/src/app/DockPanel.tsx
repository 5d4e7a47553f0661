import { ChevronDown, ChevronUp, X } from 'lucide-react'
import styles from './DockPanel.module.css'
import { closeInDock, foldDock, showInDock, useDock } from './dock'
import { IconButton } from '#/ds/Button'

// DockPanel is the dock below the page. Folded, its entries go on.
export function DockPanel() {
  const { entries, current, open } = useDock()
  return (
    <section className={styles.dock} data-open={open || undefined} aria-label="Dock">
      <header className={styles.head}>
        <div className={styles.tabs}>
          {entries.map((e) => (
            <span key={e.id} className={styles.tab} data-current={(e.id === current && open) || undefined}>
              <button type="button" aria-pressed={e.id === current && open} onClick={() => showInDock(e.id)} title={e.title}>
                {e.title}
              </button>
              <IconButton icon={X} label={`Close ${e.title}`} onClick={() => closeInDock(e.id)} />
            </span>
          ))}
        </div>
        <IconButton icon={open ? ChevronDown : ChevronUp} label={open ? 'Fold the dock' : 'Open the dock'} aria-expanded={open} onClick={() => foldDock(!open)} />
      </header>
      {entries.map((e) => (
        <div key={e.id} className={styles.content} hidden={!open || e.id !== current}>
          <e.Content />
        </div>
      ))}
    </section>
  )
}
