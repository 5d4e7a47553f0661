import { ShieldAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { Command } from './Copy'
import { PageHeader } from './PageHeader'
import styles from './State.module.css'
import { session } from '#/api/session'

interface Props {
  // What one may not do: "read the audit log".
  what: string
  // The right that is missing: an action and its place, or "admin".
  needs: string
  // What gives it, for an administrator.
  command: string
  children?: ReactNode
}

// Forbidden names who may not do what, what is missing, and what to send to an
// administrator. It is said before anything is asked of the hub.
export function Forbidden({ what, needs, command, children }: Props) {
  const { name } = session()
  return (
    <div className={styles.empty} role="note">
      <ShieldAlert size={24} aria-hidden />
      <p className={styles.emptyTitle}>You may not {what}</p>
      <div className={styles.emptyText}>
        <p>
          {name} lacks {needs}. An administrator gives it with:
        </p>
        <Command command={command} label="Command for an administrator" />
        {children}
      </div>
    </div>
  )
}

// AdminOnly shows its children to administrators only. title is that of the page,
// where the children bring their own header.
export function AdminOnly({ what, title, children }: { what: string; title?: string; children: ReactNode }) {
  const { admin, name } = session()
  if (admin) return children
  return (
    <>
      {title && <PageHeader title={title} />}
      <Forbidden what={what} needs="the right of an administrator" command={`axle users admin ${name}`} />
    </>
  )
}

// MayNot stands in place of a button that one may not use.
export function MayNot({ what, reason }: { what: string; reason: string }) {
  return (
    <p className={styles.fine}>
      You may not {what}: {reason}
    </p>
  )
}
