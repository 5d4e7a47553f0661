import { Link } from '@tanstack/react-router'
import { Fragment } from 'react'
import styles from './Crumbs.module.css'

export interface Crumb {
  label: string
  to: string
}

export function Crumbs({ items }: { items: Crumb[] }) {
  return (
    <nav aria-label="Breadcrumb" className={styles.crumbs}>
      {items.map((item, i) => (
        <Fragment key={item.to}>
          {i > 0 && <span aria-hidden>/</span>}
          <Link to={item.to}>{item.label}</Link>
        </Fragment>
      ))}
    </nav>
  )
}
