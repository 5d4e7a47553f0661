import { X } from 'lucide-react'
import type { ReactNode } from 'react'
import { Dialog as AriaDialog, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { IconButton } from './Button'
import styles from './Dialog.module.css'

interface Props {
  title: string
  onClose: () => void
  children: ReactNode
  // The buttons at the end, the main one last.
  actions?: ReactNode
  wide?: boolean
  // Asks before something that cannot be undone.
  alert?: boolean
}

// Dialog is open while it is rendered. Esc and a click outside close it; the
// focus goes back to where it was.
export function Dialog({ title, onClose, children, actions, wide, alert }: Props) {
  return (
    <ModalOverlay isOpen isDismissable={!alert} onOpenChange={(open) => !open && onClose()} className={styles.veil ?? ''}>
      <Modal className={styles.modal ?? ''} data-wide={wide || undefined}>
        <AriaDialog className={styles.dialog ?? ''} role={alert ? 'alertdialog' : 'dialog'} data-overlay>
          <header className={styles.head}>
            <Heading slot="title" level={2}>
              {title}
            </Heading>
            <IconButton icon={X} label="Close" onClick={onClose} />
          </header>
          <div className={styles.body}>{children}</div>
          {actions && <footer className={styles.actions}>{actions}</footer>}
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  )
}
