import type { LucideIcon } from 'lucide-react'
import type { ReactNode, RefObject } from 'react'
import { Menu as AriaMenu, Button, MenuItem, MenuTrigger, Popover, Separator } from 'react-aria-components'
import buttons from './Button.module.css'
import styles from './Menu.module.css'

export interface Item {
  id: string
  label: string
  icon?: LucideIcon | undefined
  keys?: string | undefined
  danger?: boolean | undefined
  // Why it cannot be chosen now.
  disabled?: string | undefined
  href?: string | undefined
  run?: (() => void) | undefined
  // A line above it.
  apart?: boolean | undefined
}

function Items({ items, label, first }: { items: Item[]; label: string; first?: boolean }) {
  return (
    <AriaMenu className={styles.menu ?? ''} aria-label={label} data-overlay {...(first ? { autoFocus: 'first' as const } : {})} disabledKeys={items.filter((i) => i.disabled).map((i) => i.id)} onAction={(id) => items.find((i) => i.id === id)?.run?.()}>
      {items.flatMap((item) => [
        ...(item.apart ? [<Separator key={`${item.id}-line`} className={styles.line ?? ''} />] : []),
        <MenuItem key={item.id} id={item.id} {...(item.href ? { href: item.href } : {})} textValue={item.label} className={styles.item ?? ''} data-danger={item.danger || undefined}>
          {item.icon && <item.icon size={14} aria-hidden />}
          <span className={styles.label}>
            {item.label}
            {item.disabled && <span className={styles.why}>{item.disabled}</span>}
          </span>
          {item.keys && <kbd className={styles.keys}>{item.keys}</kbd>}
        </MenuItem>,
      ])}
    </AriaMenu>
  )
}

// MenuButton opens a menu below itself.
export function MenuButton({ label, items, children, className }: { label: string; items: Item[]; children: ReactNode; className?: string }) {
  return (
    <MenuTrigger>
      <Button aria-label={label} className={className ?? `${buttons.button} ${buttons.plain}`}>
        {children}
      </Button>
      <Popover className={styles.popover ?? ''} placement="bottom end">
        <Items items={items} label={label} />
      </Popover>
    </MenuTrigger>
  )
}

// MenuAt is an open menu at an element, such as the actions of a row.
export function MenuAt({ label, items, at, onClose }: { label: string; items: Item[]; at: RefObject<Element | null>; onClose: () => void }) {
  return (
    <Popover aria-label={label} className={styles.popover ?? ''} isOpen triggerRef={at} placement="bottom start" onOpenChange={(open) => !open && onClose()}>
      <Items
        label={label}
        first
        items={items.map((i) => ({
          ...i,
          run: () => {
            onClose()
            i.run?.()
          },
        }))}
      />
    </Popover>
  )
}
