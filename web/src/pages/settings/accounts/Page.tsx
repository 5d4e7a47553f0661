import { Plus } from 'lucide-react'
import { useState } from 'react'
import { Trusts } from './Trusts'
import { Losses } from '../Losses'
import { ProofHint } from '../proof'
import { Lifetime, Scopes, days90 } from '../scopes'
import { unary, useCall } from '#/api/call'
import { Federation, type ServiceAccount, ServiceAccounts } from '#/api/gen/hub/v1/audit_pb'
import type { CreatedToken } from '#/api/gen/hub/v1/hub_pb'
import { byConsole, useAgain } from '#/api/manage'
import { nameProblem } from '#/api/names'
import { rules } from '#/api/rules'
import { ActionDialog } from '#/ds/ActionDialog'
import { Button } from '#/ds/Button'
import { Command } from '#/ds/Copy'
import { Checkbox, TextField } from '#/ds/Form'
import { AdminOnly } from '#/ds/Forbidden'
import { type Col, Listing } from '#/ds/Listing'
import { ManagedBy } from '#/ds/ManagedBy'
import { PageHeader } from '#/ds/PageHeader'
import { Panel } from '#/ds/Panel'
import { SecretOnce } from '#/ds/Secret'
import { Empty } from '#/ds/State'
import { Badge, many } from '#/ds/Text'
import { toast } from '#/ds/toast'
import { Age, Time } from '#/status/Age'

const cols: Col<ServiceAccount>[] = [
  {
    id: 'name',
    header: 'Name',
    grow: true,
    cell: (a) => (
      <>
        {a.name} {a.admin && <Badge tone="busy">administrator</Badge>}
      </>
    ),
  },
  { id: 'tokens', header: 'Valid tokens', align: 'end', cell: (a) => a.tokens },
  { id: 'used', header: 'Last used', cell: (a) => <Age at={a.lastUsedAt} after="ago" /> },
  { id: 'created', header: 'Created', cell: (a) => <Age at={a.createdAt} after="ago" /> },
  { id: 'manager', header: 'Managed by', cell: (a) => <ManagedBy manager={a.managedBy} /> },
]

export function Page() {
  return (
    <AdminOnly title="Service accounts" what="see service accounts">
      <All />
    </AdminOnly>
  )
}

function All() {
  const { data, error, refetch } = useCall(ServiceAccounts.method.list, {})
  const trusts = useCall(Federation.method.list, {})
  const again = useAgain(ServiceAccounts.method.list, Federation.method.list)
  const [dialog, setDialog] = useState<{ what: 'create' } | { what: 'token' | 'delete'; account: ServiceAccount }>()
  const [made, setMade] = useState<CreatedToken>()
  const [name, setName] = useState('')
  const [admin, setAdmin] = useState(false)
  const [scopes, setScopes] = useState(['read'])
  const [lifetime, setLifetime] = useState(days90)
  const close = () => setDialog(undefined)
  const actions = (account: ServiceAccount) => (
    <>
      <Button
        onClick={() => {
          setName('')
          setDialog({ what: 'token', account })
        }}
        aria-label={`Create a token for ${account.name}`}
      >
        Create a token
      </Button>
      <Button variant="quiet" onClick={() => setDialog({ what: 'delete', account })} aria-label={`Delete ${account.name}`}>
        Delete
      </Button>
    </>
  )
  const affected = dialog?.what === 'delete' ? (trusts.data?.trusts.filter((t) => t.account === dialog.account.name) ?? []) : []
  return (
    <>
      <PageHeader
        title="Service accounts"
        actions={
          <Button
            variant="primary"
            icon={Plus}
            onClick={() => {
              setName('')
              setDialog({ what: 'create' })
            }}
          >
            Create a service account
          </Button>
        }
      >
        <p>Identities of programs. They may do what roles give them; their tokens do not end when a person leaves.</p>
      </PageHeader>
      <Panel title={data ? many(data.accounts.length, 'service account') : 'Service accounts'} flush>
        <Listing
          label="Service accounts"
          cols={cols}
          rows={data?.accounts}
          error={error}
          retry={() => void refetch()}
          idOf={(a) => a.id}
          actions={actions}
          empty={
            <Empty title="No service accounts yet">
              <p>Make one for each program that calls the hub, such as a CI job.</p>
              <Command command="axle serviceaccounts create ci" />
            </Empty>
          }
        />
      </Panel>
      <Trusts trusts={trusts.data?.trusts} error={trusts.error} retry={() => void trusts.refetch()} accounts={data?.accounts.map((a) => a.name) ?? []} />
      {dialog?.what === 'create' && (
        <ActionDialog
          title="Create a service account"
          submit="Create"
          takeOver
          onClose={close}
          check={() => nameProblem(rules.account, name.trim())}
          run={async (takeOver) => {
            await unary(ServiceAccounts.method.create, { name: name.trim(), admin, management: byConsole(takeOver) })
            await again()
            toast(`${name.trim()} was created and may do nothing yet: give it a role`, { href: '/settings/roles', label: 'Roles' })
          }}
        >
          <TextField label="Name" value={name} onChange={setName} autoFocus placeholder="ci" />
          <Checkbox label="Administrator" hint="May do everything that its tokens' scopes allow." checked={admin} onChange={setAdmin} />
        </ActionDialog>
      )}
      {dialog?.what === 'token' && (
        <ActionDialog
          title={`Create a token for ${dialog.account.name}`}
          submit="Create"
          onClose={close}
          check={() => (!name.trim() ? 'Name: name the program that uses the token.' : scopes.length === 0 ? 'Scopes: choose at least one.' : undefined)}
          run={async () => {
            setMade(await unary(ServiceAccounts.method.createToken, { account: dialog.account.name, name: name.trim(), scopes, lifetimeMicros: BigInt(lifetime), management: byConsole() }))
            await again()
          }}
        >
          <ProofHint />
          <TextField label="Name" value={name} onChange={setName} autoFocus placeholder="pipeline of fleet" />
          <Scopes value={scopes} onChange={setScopes} />
          <Lifetime value={lifetime} onChange={setLifetime} />
        </ActionDialog>
      )}
      {dialog?.what === 'delete' && (
        <ActionDialog
          title={`Delete ${dialog.account.name}?`}
          submit="Delete the service account"
          danger
          takeOver
          onClose={close}
          run={async (takeOver) => {
            await unary(ServiceAccounts.method.delete, { name: dialog.account.name, management: byConsole(takeOver) })
            await again()
            toast(`${dialog.account.name} was deleted`)
          }}
        >
          <p>
            {many(dialog.account.tokens, 'token of it is', 'tokens of it are')} refused within 5 s; last use: <Age at={dialog.account.lastUsedAt} after="ago" />. {affected.length > 0 && `CI jobs lose ${many(affected.length, 'trust')}: ${affected.map((t) => t.name).join(', ')}. `}There is no undo.
          </p>
          <Losses subjectKind="service_account" subject={dialog.account.name} lead="These roles end:" />
        </ActionDialog>
      )}
      {made && (
        <SecretOnce title="The token" label="Token" secret={made.secret} onClose={() => setMade(undefined)}>
          <p>
            Scopes: {made.token?.scopes.join(', ')}. It expires <Time at={made.token?.expiresAt ?? 0n} />.
          </p>
        </SecretOnce>
      )}
    </>
  )
}
