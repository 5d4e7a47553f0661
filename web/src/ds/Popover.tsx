import type { ReactNode, RefObject } from 'react'
import { Popover as AriaPopover, Dialog } from 'react-aria-components'
import styles from './Menu.module.css'

interface Props {
  label: string
  at: RefObject<Element | null>
  onClose: () => void
  children: ReactNode
}

// PopoverAt is an open popover at an element, with anything in it.
export function PopoverAt({ label, at, onClose, children }: Props) {
  return (
    <AriaPopover className={styles.popover ?? ''} isOpen triggerRef={at} placement="bottom start" onOpenChange={(open) => !open && onClose()}>
      <Dialog aria-label={label} data-overlay>
        {children}
      </Dialog>
    </AriaPopover>
  )
}
