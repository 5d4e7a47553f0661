import { Plus } from 'lucide-react'
import { useState } from 'react'
import { TokenDialog } from './TokenDialog'
import styles from '../Settings.module.css'
import { unary, useCall } from '#/api/call'
import { type CreatedToken, type Token, Tokens } from '#/api/gen/hub/v1/hub_pb'
import { useAgain } from '#/api/manage'
import { useMaySomewhere } from '#/api/may'
import { session } from '#/api/session'
import { ActionDialog } from '#/ds/ActionDialog'
import { Button } from '#/ds/Button'
import { Command } from '#/ds/Copy'
import { type Col, Listing } from '#/ds/Listing'
import { ManagedBy } from '#/ds/ManagedBy'
import { PageHeader } from '#/ds/PageHeader'
import { Panel } from '#/ds/Panel'
import { SecretOnce } from '#/ds/Secret'
import { Empty } from '#/ds/State'
import { Muted, Tag, many } from '#/ds/Text'
import { toast } from '#/ds/toast'
import { Age, Time, Until } from '#/status/Age'

const api: Col<Token>[] = [
  { id: 'name', header: 'Name', grow: true, cell: (t) => t.name || <Muted>unnamed</Muted> },
  { id: 'owner', header: 'Owner', cell: (t) => t.owner },
  { id: 'scopes', header: 'Scopes', cell: (t) => <span className={styles.scopes}>{t.scopes.map((s) => <Tag key={s}>{s}</Tag>)}</span> },
  { id: 'used', header: 'Last used', cell: (t) => <Age at={t.lastUsedAt} after="ago" /> },
  { id: 'expires', header: 'Expires', cell: (t) => <Until at={t.expiresAt} past="expired" /> },
  { id: 'made', header: 'Made', cell: (t) => <><Age at={t.createdAt} after="ago" />{t.madeBy && t.madeBy !== t.owner && <Muted> by {t.madeBy}</Muted>}</> },
]

const bootstrap: Col<Token>[] = [
  { id: 'pattern', header: 'For clusters', grow: true, cell: (t) => t.namePattern || '*' },
  { id: 'project', header: 'Project', cell: (t) => t.project || 'default' },
  { id: 'uses', header: 'Uses left', align: 'end', cell: (t) => t.usesLeft },
  { id: 'expires', header: 'Expires', cell: (t) => <Until at={t.expiresAt} past="expired" /> },
  { id: 'owner', header: 'Made by', cell: (t) => t.madeBy || t.owner },
  { id: 'manager', header: 'Managed by', cell: (t) => <ManagedBy manager={t.managedBy} /> },
]

export function Page() {
  const { data, error, refetch } = useCall(Tokens.method.list, {})
  const again = useAgain(Tokens.method.list)
  const may = useMaySomewhere('create')
  const [dialog, setDialog] = useState<'api' | 'bootstrap'>()
  const [made, setMade] = useState<CreatedToken>()
  const [revoking, setRevoking] = useState<Token>()
  const tokens = data?.tokens
  const actions = (t: Token) => (
    <Button variant="quiet" onClick={() => setRevoking(t)} aria-label={`Revoke ${t.name || t.namePattern || t.id}`}>
      Revoke
    </Button>
  )
  const common = { error, retry: () => void refetch(), idOf: (t: Token) => t.id, actions }
  return (
    <>
      <PageHeader title="Tokens">
        <p>A token can do what both its owner and its scopes allow. For programs, prefer a service account: its tokens outlive persons.</p>
      </PageHeader>
      <Panel
        title={session().admin ? 'API tokens' : 'Your API tokens'}
        flush
        aside={
          <Button variant="primary" icon={Plus} onClick={() => setDialog('api')}>
            Create a token
          </Button>
        }
      >
        <Listing
          label="API tokens"
          cols={api}
          rows={tokens?.filter((t) => t.kind !== 'bootstrap')}
          {...common}
          empty={
            <Empty title="No API tokens">
              <p>Create one here, or log in with the command line, which gets one of its own:</p>
              <Command command={`axle login ${location.origin}`} />
            </Empty>
          }
        />
      </Panel>
      <Panel
        title="Bootstrap tokens, for new clusters"
        flush
        aside={
          may.allowed === true && (
            <Button icon={Plus} onClick={() => setDialog('bootstrap')}>
              Create a bootstrap token
            </Button>
          )
        }
      >
        <Listing
          label="Bootstrap tokens"
          cols={bootstrap}
          rows={tokens?.filter((t) => t.kind === 'bootstrap')}
          {...common}
          empty={
            <Empty title="No bootstrap tokens">
              <p>Adding one cluster makes one by itself. A shared one is for machines that register many clusters.</p>
              {may.allowed === false && <p>You may not create one: {may.reason}</p>}
            </Empty>
          }
        />
      </Panel>
      {dialog && (
        <TokenDialog
          kind={dialog}
          onClose={() => setDialog(undefined)}
          onMade={(t) => {
            setMade(t)
            void again()
          }}
        />
      )}
      {made && (
        <SecretOnce title={made.token?.kind === 'bootstrap' ? 'Your bootstrap token' : 'Your token'} label="Token" secret={made.secret} onClose={() => setMade(undefined)}>
          <p>
            Scopes: {made.token?.scopes.join(', ') || 'registers clusters'}. It expires <Time at={made.token?.expiresAt ?? 0n} />.
          </p>
          {made.token?.kind !== 'bootstrap' && <p className={styles.muted}>Store it in a file and use it: axle whoami --hub {location.origin} --token-file FILE</p>}
        </SecretOnce>
      )}
      {revoking && (
        <ActionDialog
          title={`Revoke ${revoking.name || 'this token'}?`}
          submit="Revoke"
          danger
          onClose={() => setRevoking(undefined)}
          run={async () => {
            await unary(Tokens.method.revoke, { id: revoking.id })
            await again()
            toast('Revoked: it is refused everywhere within 5 s')
          }}
        >
          {revoking.kind === 'bootstrap' ? (
            <p>No further cluster can register with it: it has {many(revoking.usesLeft, 'use')} left. Clusters that are registered stay.</p>
          ) : (
            <p>
              Whatever uses it as {revoking.owner} is refused within 5 s on every replica. Last use: <Age at={revoking.lastUsedAt} after="ago" />. Tokens that it created end with it.
            </p>
          )}
          <p>There is no undo; create a new one instead.</p>
        </ActionDialog>
      )}
    </>
  )
}
