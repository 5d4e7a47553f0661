import { Dialog } from '#/ds/Dialog'
import { Kbd } from '#/ds/Kbd'
import styles from './KeySheet.module.css'
import { activeScopes } from './keys'
import { usePreferences } from './preferences'

// KeySheet lists the keys that work now, the page's own first.
export function KeySheet({ onClose }: { onClose: () => void }) {
  const { letters } = usePreferences()
  return (
    <Dialog title="Keys" onClose={onClose} wide>
      {!letters && <p>Single-letter keys are off. Turn them on in the menu with your name.</p>}
      <div className={styles.sheet}>
        {activeScopes().map((scope) => (
          <section key={scope.name} className={styles.scope}>
            <h3>{scope.name}</h3>
            <dl>
              {scope.bindings
                .filter((b) => !b.quiet)
                .map((b) => (
                  <div key={b.keys}>
                    <dt>
                      <Kbd keys={b.keys} />
                    </dt>
                    <dd>{b.does}</dd>
                  </div>
                ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  )
}
