import { type ReactNode, useEffect, useRef } from 'react'
import styles from './PageHeader.module.css'
import { useTitle } from './useTitle'

interface Props {
  // Of the document, and of the h1 unless heading is given.
  title: string
  heading?: ReactNode
  // Above the title: where we are.
  crumbs?: ReactNode
  // Beside the title, such as a status.
  beside?: ReactNode
  // Below the title.
  children?: ReactNode
  actions?: ReactNode
  // Kept in the document, not shown.
  hidden?: boolean
}

// PageHeader has the page's one h1. After a navigation the focus is on it.
export function PageHeader({ title, heading, crumbs, beside, children, actions, hidden }: Props) {
  const h1 = useRef<HTMLHeadingElement>(null)
  useTitle(title)
  useEffect(() => {
    if (document.activeElement === document.body || document.activeElement?.closest('[data-shell="nav"]')) h1.current?.focus({ preventScroll: true })
  }, [title])
  return (
    <header className={hidden ? 'visually-hidden' : styles.header}>
      {crumbs && <div className={styles.crumbs}>{crumbs}</div>}
      <div className={styles.row}>
        <div className={styles.title}>
          <h1 ref={h1} tabIndex={-1}>
            {heading ?? title}
          </h1>
          {beside}
        </div>
        {actions && <div className={styles.actions}>{actions}</div>}
      </div>
      {children}
    </header>
  )
}
