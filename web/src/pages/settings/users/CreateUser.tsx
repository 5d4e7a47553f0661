import { useState } from 'react'
import { ProofHint } from '../proof'
import { Lifetime, Scopes, day1 } from '../scopes'
import { unary } from '#/api/call'
import { type CreateUserResponse, Users } from '#/api/gen/hub/v1/access_pb'
import { byConsole } from '#/api/manage'
import { ActionDialog } from '#/ds/ActionDialog'
import { Checkbox, TextField } from '#/ds/Form'
import { toast } from '#/ds/toast'

export function CreateUser({ onClose, onMade }: { onClose: () => void; onMade: (answer: CreateUserResponse) => void }) {
  const [email, setEmail] = useState('')
  const [admin, setAdmin] = useState(false)
  const [token, setToken] = useState(false)
  const [scopes, setScopes] = useState(['read'])
  const [lifetime, setLifetime] = useState(day1)
  const check = () => (/^[^\s@]+@[^\s@]+$/.test(email.trim()) ? (token && scopes.length === 0 ? 'Scopes: choose at least one.' : undefined) : 'E-mail: an address such as ann@example.com.')
  const run = async (takeOver: boolean) => {
    const answer = await unary(Users.method.create, { email: email.trim(), admin, tokenScopes: token ? scopes : [], tokenLifetimeMicros: BigInt(lifetime), management: byConsole(takeOver) })
    onMade(answer)
    toast(`${email.trim()} was created and may do nothing yet: give a role or a group`, { href: '/settings/roles', label: 'Roles' })
  }
  return (
    <ActionDialog title="Create a user" submit="Create" run={run} check={check} onClose={onClose}>
      <TextField label="E-mail" type="email" value={email} onChange={setEmail} autoFocus autoComplete="off" hint="As the login provider names them. They log in with it later; no mail is sent." />
      <Checkbox label="Administrator" hint="May do everything, also give rights to others." checked={admin} onChange={setAdmin} />
      <Checkbox label="Create a first API token" hint="For somebody who begins with the command line." checked={token} onChange={setToken} />
      {token && (
        <>
          <ProofHint />
          <Scopes value={scopes} onChange={setScopes} />
          <Lifetime value={lifetime} onChange={setLifetime} />
        </>
      )}
    </ActionDialog>
  )
}
