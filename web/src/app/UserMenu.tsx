import { CircleUser } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { session } from '#/api/session'
import { Segmented } from '#/ds/Form'
import { setPreferences, usePreferences } from './preferences'
import styles from './TopBar.module.css'

// UserMenu has what belongs to the person at this browser. Account, sessions
// and logout are pages of the hub.
export function UserMenu() {
  const [open, setOpen] = useState(false)
  const anchor = useRef<HTMLDivElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  const { theme, density, letters } = usePreferences()
  const me = session()
  useEffect(() => {
    if (!open) return undefined
    const outside = (event: Event) => {
      if (event instanceof KeyboardEvent ? event.key === 'Escape' : !anchor.current?.contains(event.target as Node)) {
        setOpen(false)
        if (event instanceof KeyboardEvent) button.current?.focus()
      }
    }
    document.addEventListener('pointerdown', outside)
    document.addEventListener('keydown', outside)
    document.addEventListener('focusin', outside)
    return () => {
      document.removeEventListener('pointerdown', outside)
      document.removeEventListener('keydown', outside)
      document.removeEventListener('focusin', outside)
    }
  }, [open])
  return (
    <div ref={anchor} className={styles.anchor}>
      <button ref={button} type="button" className={styles.user} aria-expanded={open} aria-label={`You: ${me.name}`} onClick={() => setOpen(!open)}>
        <CircleUser size={16} aria-hidden />
        <span className={styles.name}>{me.name}</span>
      </button>
      {open && (
        <div className={styles.popup} role="group" aria-label="You" data-keys="off">
          <p className={styles.who}>
            {me.name}
            <span>{me.admin ? 'Administrator' : me.groups.length ? `Groups: ${me.groups.join(', ')}` : 'No groups'}</span>
          </p>
          <hr className={styles.line} />
          <div className={styles.choice}>
            Theme
            <Segmented label="Theme" value={theme} options={[{ value: 'system', label: 'Auto' }, { value: 'light', label: 'Light' }, { value: 'dark', label: 'Dark' }]} onChange={(theme) => setPreferences({ theme })} />
          </div>
          <div className={styles.choice}>
            Rows
            <Segmented label="Height of rows" value={density} options={[{ value: 'default', label: 'Default' }, { value: 'compact', label: 'Compact' }]} onChange={(density) => setPreferences({ density })} />
          </div>
          <div className={styles.choice}>
            Single-letter keys
            <Segmented label="Single-letter keys" value={letters ? 'on' : 'off'} options={[{ value: 'on', label: 'On' }, { value: 'off', label: 'Off' }]} onChange={(v) => setPreferences({ letters: v === 'on' })} />
          </div>
          <hr className={styles.line} />
          <a className={styles.link} href="/login/account">
            Account and sessions
          </a>
          <a className={styles.link} href="/docs/">
            Documentation
          </a>
          <a className={styles.link} href="/logout">
            Log out
          </a>
        </div>
      )}
    </div>
  )
}
