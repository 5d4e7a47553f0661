import { type ReactNode, useEffect, useRef, useState } from 'react'
import styles from './Drop.module.css'

interface Props {
  // The button's content, and its name where that is no text.
  button: ReactNode
  label?: string
  className: string
  // What is inside, for people who hear the page.
  inside: string
  align?: 'start' | 'end'
  width?: number
  children: ReactNode
}

// Drop is a button that shows something below itself: choices that stay open
// while they are made. Esc, a click outside or leaving it by Tab closes it.
export function Drop({ button, label, className, inside, align = 'start', width = 260, children }: Props) {
  const [open, setOpen] = useState(false)
  const anchor = useRef<HTMLDivElement>(null)
  const trigger = useRef<HTMLButtonElement>(null)
  const panel = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (!open) return undefined
    panel.current?.querySelector<HTMLElement>('input, button, a')?.focus()
    // It stays on the screen where the button is near the edge.
    const box = panel.current?.getBoundingClientRect()
    if (box && panel.current) {
      const over = box.right - (document.documentElement.clientWidth - 8)
      if (over > 0) panel.current.style.translate = `${-over}px`
      else if (box.left < 8) panel.current.style.translate = `${8 - box.left}px`
    }
    const outside = (event: Event) => {
      if (!anchor.current?.contains(event.target as Node)) setOpen(false)
    }
    const escape = (event: KeyboardEvent) => {
      if (event.key !== 'Escape') return
      event.preventDefault()
      setOpen(false)
      trigger.current?.focus()
    }
    document.addEventListener('pointerdown', outside)
    document.addEventListener('focusin', outside)
    document.addEventListener('keydown', escape, true)
    return () => {
      document.removeEventListener('pointerdown', outside)
      document.removeEventListener('focusin', outside)
      document.removeEventListener('keydown', escape, true)
    }
  }, [open])
  return (
    <div ref={anchor} className={styles.anchor}>
      <button ref={trigger} type="button" className={className} aria-expanded={open} aria-label={label} title={label} onClick={() => setOpen(!open)}>
        {button}
      </button>
      {open && (
        <div ref={panel} className={styles.panel} data-align={align} role="group" aria-label={inside} style={{ width }} data-keys="off">
          {children}
        </div>
      )}
    </div>
  )
}
