import { Link } from '@tanstack/react-router'
import { Fragment } from 'react'
import styles from './Crumbs.module.css'

export interface Crumb {
  label: string
  to: string
  search?: Record<string, string>
}

// Crumbs are the pages above this one. A second one on a page has its own label.
export function Crumbs({ items, label = 'Breadcrumb' }: { items: Crumb[]; label?: string }) {
  return (
    <nav aria-label={label} className={styles.crumbs}>
      {items.map((item, i) => (
        <Fragment key={item.label}>
          {i > 0 && <span aria-hidden>/</span>}
          <Link to={item.to} search={(item.search ?? {}) as never}>
            {item.label}
          </Link>
        </Fragment>
      ))}
    </nav>
  )
}
