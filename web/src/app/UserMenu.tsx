import { CircleUser } from 'lucide-react'
import { session } from '#/api/session'
import { Drop } from '#/ds/Drop'
import { Segmented } from '#/ds/Form'
import { setPreferences, usePreferences } from './preferences'
import styles from './TopBar.module.css'

// UserMenu has what belongs to the person at this browser. Account, sessions
// and logout are pages of the hub.
export function UserMenu() {
  const { theme, density, letters } = usePreferences()
  const me = session()
  return (
    <Drop
      label={`You: ${me.name}`}
      inside="You"
      align="end"
      width={290}
      className={styles.user ?? ''}
      button={
        <>
          <CircleUser size={16} aria-hidden />
          <span className={styles.name}>{me.name}</span>
        </>
      }
    >
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
    </Drop>
  )
}
