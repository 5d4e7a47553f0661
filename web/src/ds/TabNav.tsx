import { useNavigate, useRouter } from '@tanstack/react-router'
import { type MouseEvent, useLayoutEffect, useRef } from 'react'
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
  const router = useRouter()
  const at = tabs.findIndex((t) => t.label === current)
  const options = (tab: Tab) => ({ to: tab.to, search: tab.search ?? {} }) as never
  const step = (by: number) => {
    const next = tabs[(at + by + tabs.length) % tabs.length]
    if (next) void navigate(options(next))
  }
  useKeys('Tabs', [
    { keys: '[', does: 'previous tab', run: () => step(-1) },
    { keys: ']', does: 'next tab', run: () => step(1) },
  ])
  // On a phone not all fit: the current one shows.
  const nav = useRef<HTMLElement>(null)
  useLayoutEffect(() => {
    const link = nav.current?.querySelector<HTMLElement>('[aria-current="page"]')
    if (nav.current && link) nav.current.scrollLeft = link.offsetLeft - nav.current.offsetLeft - (nav.current.clientWidth - link.offsetWidth) / 2
  }, [current])
  const open = (event: MouseEvent, tab: Tab) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return
    event.preventDefault()
    void navigate(options(tab))
  }
  return (
    <nav ref={nav} aria-label={label} className={styles.tabs} data-shell="nav">
      {tabs.map((tab) => (
        <a key={tab.label} href={router.buildLocation(options(tab)).href} className={styles.tab} aria-current={tab.label === current ? 'page' : undefined} onClick={(event) => open(event, tab)}>
          {tab.label}
          {tab.note && <span className={styles.note}>{tab.note}</span>}
        </a>
      ))}
    </nav>
  )
}
