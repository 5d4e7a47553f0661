import { Link } from '@tanstack/react-router'
import { PanelLeft, X } from 'lucide-react'
import { IconButton } from '#/ds/Button'
import styles from './Sidebar.module.css'
import { navigation } from './navigation'
import { setPreferences, usePreferences } from './preferences'
import { ViewList } from './views/ViewList'

export function Logo() {
  return (
    <svg viewBox="0 0 32 32" width="22" height="22" fill="none" stroke="currentColor" strokeWidth="3" strokeLinecap="round" aria-hidden>
      <circle cx="7" cy="16" r="5" />
      <circle cx="25" cy="16" r="5" />
      <path d="M12 16h8" />
    </svg>
  )
}

export function Sidebar({ open, onClose }: { open: boolean; onClose: () => void }) {
  const { sidebar } = usePreferences()
  const narrow = sidebar === 'narrow' && !open
  return (
    <>
      {open && <button type="button" className={styles.veil} aria-label="Close the navigation" onClick={onClose} />}
      <nav className={styles.sidebar} aria-label="Main" data-narrow={narrow || undefined} data-open={open || undefined} data-shell="nav">
        <div className={styles.head}>
          <Link to="/" className={styles.logo} aria-label="Axle, home">
            <Logo />
            <span className={styles.word}>Axle</span>
          </Link>
          {open && <IconButton icon={X} label="Close" onClick={onClose} />}
        </div>
        {navigation.map((group, i) => (
          // oxlint-disable-next-line react/no-array-index-key -- the list never changes
          <div key={i} className={styles.group}>
            {group.label && <p className={styles.label}>{group.label}</p>}
            <ul>
              {group.entries.map((entry) => (
                <li key={entry.to}>
                  <Link to={entry.to} className={styles.entry} activeOptions={{ exact: entry.to === '/', includeSearch: false }} activeProps={{ 'aria-current': 'page' }} title={narrow ? entry.label : undefined}>
                    <entry.icon size={16} aria-hidden />
                    <span className={styles.word}>{entry.label}</span>
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        ))}
        <ViewList />
        <div className={styles.foot}>
          <IconButton icon={PanelLeft} label={narrow ? 'Wide navigation' : 'Narrow navigation'} onClick={() => setPreferences({ sidebar: sidebar === 'narrow' ? 'open' : 'narrow' })} />
        </div>
      </nav>
    </>
  )
}
