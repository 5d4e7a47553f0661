import { useRouter, useRouterState } from '@tanstack/react-router'
import { Bookmark } from 'lucide-react'
import { type MouseEvent, useId } from 'react'
import styles from '../Sidebar.module.css'
import { keyOf, pageOf, placeOf, useViews } from './views'

// ViewList is the part of the sidebar that has the saved views; nothing without any.
export function ViewList() {
  const id = useId()
  const views = useViews()
  const { history } = useRouter()
  const here = useRouterState({ select: (s) => s.location.href })
  if (views.length === 0) return null
  const place = placeOf(here)
  const key = place && keyOf(place)
  const open = (event: MouseEvent, href: string) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return
    event.preventDefault()
    history.push(href)
  }
  return (
    <div className={styles.group}>
      <p className={styles.label} id={id}>
        Views
      </p>
      <ul aria-labelledby={id}>
        {views.map((view) => {
          const Icon = pageOf(view.path)?.icon ?? Bookmark
          const href = view.path + view.search
          return (
            <li key={view.name}>
              <a href={href} className={styles.entry} aria-current={keyOf(view) === key ? 'page' : undefined} title={view.name} onClick={(event) => open(event, href)}>
                <Icon size={16} aria-hidden />
                <span className={`${styles.word} ${styles.view}`}>{view.name}</span>
              </a>
            </li>
          )
        })}
      </ul>
    </div>
  )
}
