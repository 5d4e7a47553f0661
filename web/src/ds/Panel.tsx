import { type ReactNode, useId } from 'react'
import styles from './Panel.module.css'

interface Props {
  title: ReactNode
  // Beside the title: counts, ages, buttons.
  aside?: ReactNode
  // No padding, for lists and grids that reach the edges.
  flush?: boolean
  children: ReactNode
}

// Panel is one part of a page with its heading; it fails and loads by itself.
export function Panel({ title, aside, flush, children }: Props) {
  const id = useId()
  return (
    <section className={styles.panel} aria-labelledby={id}>
      <header className={styles.head}>
        <h2 id={id} className={styles.title}>
          {title}
        </h2>
        {aside !== undefined && <div className={styles.aside}>{aside}</div>}
      </header>
      <div className={flush ? styles.flush : styles.body}>{children}</div>
    </section>
  )
}
