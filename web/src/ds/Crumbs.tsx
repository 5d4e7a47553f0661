import { Link } from '@tanstack/react-router'
import { Fragment } from 'react'
import styles from './Crumbs.module.css'

export interface Crumb {
  label: string
  to: string
  search?: Record<string, string>
}

export function Crumbs({ items }: { items: Crumb[] }) {
  return (
    <nav aria-label="Breadcrumb" className={styles.crumbs}>
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
