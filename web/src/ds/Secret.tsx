import { KeyRound } from 'lucide-react'
import type { ReactNode } from 'react'
import { Button } from './Button'
import { Command } from './Copy'
import { Dialog } from './Dialog'
import { Banner } from './State'

// SecretOnce shows a secret that the hub tells only now. It closes by its
// button alone, so that a click outside loses nothing.
export function SecretOnce({ title, label, secret, onClose, children }: { title: string; label: string; secret: string; onClose: () => void; children?: ReactNode }) {
  return (
    <Dialog
      title={title}
      onClose={onClose}
      alert
      actions={
        <Button variant="primary" onClick={onClose}>
          I have stored it
        </Button>
      }
    >
      <Banner tone="warn" icon={KeyRound}>
        This is shown once. The hub keeps only a hash of it or a sealed copy, and cannot show it again.
      </Banner>
      <p>{label}</p>
      <Command command={secret} label={label} />
      {children}
    </Dialog>
  )
}
