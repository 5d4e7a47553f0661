import { Link, Outlet, useLocation } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import styles from './Settings.module.css'
import { sectionsFor } from './sections'
import { session } from '#/api/session'

export function Page() {
  const { pathname } = useLocation()
  const nav = useRef<HTMLElement>(null)
  const { groups, hidden } = sectionsFor(session().admin)
  // On a phone the sections scroll sideways: the current one is visible.
  useEffect(() => {
    const link = nav.current?.querySelector<HTMLElement>('[aria-current="page"]')
    if (nav.current && link) nav.current.scrollLeft = link.offsetLeft - (nav.current.clientWidth - link.offsetWidth) / 2
  }, [pathname])
  return (
    <div className={styles.layout}>
      <nav ref={nav} aria-label="Settings" className={styles.nav} data-shell="nav">
        {groups.map((g) => (
          <div key={g.label} className={styles.group}>
            <p className={styles.groupLabel} id={`settings-${g.label}`}>
              {g.label}
            </p>
            <ul aria-labelledby={`settings-${g.label}`}>
              {g.sections.map((s) => (
                <li key={s.path}>
                  <Link to={`/settings/${s.path}`} className={styles.link} activeOptions={{ exact: true }}>
                    {s.label}
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        ))}
        {hidden.length > 0 && <p className={styles.hidden}>For administrators: {hidden.join(', ').toLowerCase()}.</p>}
      </nav>
      <div className={styles.page}>
        <Outlet />
      </div>
    </div>
  )
}
