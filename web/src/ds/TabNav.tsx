import { Link } from '@tanstack/react-router'
import { useNavigate } from '@tanstack/react-router'
import styles from './TabNav.module.css'
import { useKeys } from '#/app/useKeys'

export interface Tab {
  label: string
  to: string
  // Shown beside the label: a count, or a warning.
  note?: string | undefined
  // Search parameters of the tab, for tabs of one path.
  search?: Record<string, string> | undefined
}

interface Props {
  label: string
  tabs: Tab[]
  current: string
}

// TabNav is the tabs of a page: links, so that each has an address. "[" and "]"
// go to the one before and after.
export function TabNav({ label, tabs, current }: Props) {
  const navigate = useNavigate()
  const at = tabs.findIndex((t) => t.label === current)
  const go = (by: number) => {
    const next = tabs[(at + by + tabs.length) % tabs.length]
    if (next) void navigate({ to: next.to, search: next.search ?? {} } as never)
  }
  useKeys('Tabs', [
    { keys: '[', does: 'previous tab', run: () => go(-1) },
    { keys: ']', does: 'next tab', run: () => go(1) },
  ])
  return (
    <nav aria-label={label} className={styles.tabs} data-shell="nav">
      {tabs.map((tab) => (
        <Link key={tab.label} to={tab.to} search={(tab.search ?? {}) as never} activeOptions={{ exact: true, includeSearch: true }} className={styles.tab} aria-current={tab.label === current ? 'page' : undefined}>
          {tab.label}
          {tab.note && <span className={styles.note}>{tab.note}</span>}
        </Link>
      ))}
    </nav>
  )
}
