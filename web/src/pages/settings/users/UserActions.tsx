import { useState } from 'react'
import { Losses } from '../Losses'
import { unary } from '#/api/call'
import { type User, Users } from '#/api/gen/hub/v1/access_pb'
import { Logins } from '#/api/gen/hub/v1/login_pb'
import { byConsole } from '#/api/manage'
import { session } from '#/api/session'
import { ActionDialog } from '#/ds/ActionDialog'
import { Checkbox } from '#/ds/Form'
import { ManagedBy } from '#/ds/ManagedBy'
import { toast } from '#/ds/toast'

export type UserAct = 'admin' | 'revoke' | 'end' | 'unlink' | 'delete'

interface Props {
  user: User
  what: UserAct
  onClose: () => void
  onDone: () => Promise<void>
}

const titles: Record<UserAct, [title: (name: string) => string, submit: string]> = {
  admin: [(n) => `Make ${n} an administrator?`, 'Make an administrator'],
  revoke: [(n) => `${n} no longer an administrator?`, 'Take the right'],
  end: [(n) => `Log ${n} out everywhere?`, 'Log out everywhere'],
  unlink: [(n) => `Unlink ${n} from login providers?`, 'Unlink'],
  delete: [(n) => `Delete ${n}?`, 'Delete the user'],
}

export function UserActions({ user, what, onClose, onDone }: Props) {
  const [tokens, setTokens] = useState(false)
  const [title, submit] = titles[what]
  const { name } = user
  const self = name === session().name
  const run = async (takeOver: boolean) => {
    const management = byConsole(takeOver)
    if (what === 'admin' || what === 'revoke') await unary(Users.method.setAdmin, { name, admin: what === 'admin', management })
    else if (what === 'delete') await unary(Users.method.delete, { name, management })
    else if (what === 'unlink') await unary(Logins.method.unlink, { user: name })
    else await unary(Logins.method.endSessions, { user: name, tokens })
    await onDone()
    toast(what === 'delete' ? `${name} was deleted` : 'Done: it holds everywhere within 5 s')
  }
  return (
    <ActionDialog title={title(name)} submit={submit} danger={what !== 'admin'} takeOver={what === 'admin' || what === 'revoke' || what === 'delete'} run={run} onClose={onClose}>
      {what === 'admin' && (
        <>
          <p>{name} may then do everything on this hub: read all clusters and secrets that services use, and give rights to others. Undo: take the right here.</p>
          {user.adminManagedBy && <ManagedBy manager={user.adminManagedBy} prefix />}
        </>
      )}
      {what === 'revoke' && (
        <>
          <p>
            {self ? 'You keep' : `${name} keeps`} only what roles give, within 5 s everywhere; tokens with the scope admin shrink to that.
            {self && ' You can then not undo this yourself.'} Undo: another administrator gives it again.
          </p>
          <Losses subjectKind="user" subject={name} groups={user.groups} lead="Rights that roles still give:" />
          {user.adminManagedBy && <ManagedBy manager={user.adminManagedBy} prefix />}
        </>
      )}
      {what === 'end' && (
        <>
          <p>All browser sessions and command lines of {self ? 'yours end, also this one' : `${name} end`} within 5 s. They can log in again.</p>
          <Checkbox label="Revoke their API tokens and bootstrap tokens too" hint="Programs that use them are refused. This cannot be undone." checked={tokens} onChange={setTokens} />
        </>
      )}
      {what === 'unlink' && <p>The next login through a provider links {name} again by e-mail address. Use it when an address was given to somebody else, or an account at the provider was replaced. Sessions stay.</p>}
      {what === 'delete' && (
        <>
          <p>{name} loses access within 5 s: sessions, tokens, roles and memberships end. Somebody who gets the same address later inherits none of them. There is no undo; history and the audit log keep the name.</p>
          <Losses subjectKind="user" subject={name} groups={user.groups} lead="These roles end:" />
        </>
      )}
    </ActionDialog>
  )
}
