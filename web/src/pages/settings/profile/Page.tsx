import { LogOut } from 'lucide-react'
import { useState } from 'react'
import styles from '../Settings.module.css'
import { MyApplications } from '../applications/Logins'
import { unary, useCall } from '#/api/call'
import { Logins, type Session } from '#/api/gen/hub/v1/login_pb'
import { useAgain } from '#/api/manage'
import { session } from '#/api/session'
import { ActionDialog } from '#/ds/ActionDialog'
import { Button, buttonClass } from '#/ds/Button'
import { Checkbox } from '#/ds/Form'
import { type Col, Listing } from '#/ds/Listing'
import { PageHeader } from '#/ds/PageHeader'
import { Panel } from '#/ds/Panel'
import { Empty } from '#/ds/State'
import { Badge, Facts, Muted, many } from '#/ds/Text'
import { toast } from '#/ds/toast'
import { Age, Until } from '#/status/Age'
import { browserOf, kindOf } from './session'

const cols: Col<Session>[] = [
  {
    id: 'what',
    header: 'Login',
    grow: true,
    cell: (s) => (
      <span className={styles.inline}>
        {kindOf(s)} {s.current && <Badge tone="good">this browser</Badge>}
      </span>
    ),
  },
  { id: 'agent', header: 'With', cell: (s) => (s.agent ? <span title={s.agent}>{browserOf(s.agent)}</span> : <Muted>unknown</Muted>) },
  { id: 'source', header: 'From', cell: (s) => s.source || <Muted>unknown</Muted> },
  { id: 'used', header: 'Last used', cell: (s) => <Age at={s.lastUsedAt} after="ago" /> },
  { id: 'began', header: 'Began', cell: (s) => <Age at={s.createdAt} after="ago" /> },
  { id: 'ends', header: 'Ends', cell: (s) => <Until at={s.expiresAt} never="never" past="ended" /> },
]

export function Page() {
  const me = session()
  const { data, error, refetch } = useCall(Logins.method.listSessions, {})
  const again = useAgain(Logins.method.listSessions)
  const [ending, setEnding] = useState<Session>()
  const [all, setAll] = useState(false)
  const [tokens, setTokens] = useState(false)
  const end = (s: Session) => (
    <Button variant="quiet" onClick={() => setEnding(s)} aria-label={`End ${kindOf(s)} from ${s.source || 'unknown'}`}>
      End
    </Button>
  )
  return (
    <>
      <PageHeader
        title="Profile"
        actions={
          <a className={buttonClass('primary')} href="/login/account">
            Password, passkeys, second factor
          </a>
        }
      />
      <Panel title="You">
        <Facts
          facts={[
            { label: 'E-mail', value: me.name },
            { label: 'Role', value: me.admin ? 'administrator' : 'no administrator' },
            { label: 'Groups', value: me.groups.length ? me.groups.join(', ') : <Muted>none</Muted> },
            { label: 'Last proved that it is you', value: <Age at={me.provedAt} after="ago" never="unknown" /> },
          ]}
        />
      </Panel>
      <Panel
        title="Where you are logged in"
        flush
        aside={
          <Button icon={LogOut} onClick={() => setAll(true)}>
            Log out everywhere
          </Button>
        }
      >
        <Listing
          label="Sessions and command lines"
          cols={cols}
          rows={data?.sessions}
          error={error}
          retry={() => void refetch()}
          idOf={(s) => s.id}
          empty={<Empty title="No sessions" />}
          actions={end}
        />
      </Panel>
      <MyApplications />
      {ending && (
        <ActionDialog
          title={ending.current ? 'Log out here?' : 'End this login?'}
          submit={ending.current ? 'Log out' : 'End it'}
          danger
          onClose={() => setEnding(undefined)}
          run={async () => {
            await unary(Logins.method.endSession, { id: ending.id })
            if (ending.current) location.assign('/login')
            await again()
            toast('Ended: it is refused everywhere within 5 s')
          }}
        >
          <p>
            {kindOf(ending)}, {browserOf(ending.agent) || 'an unknown program'} from {ending.source || 'an unknown address'}, is refused within 5 s on every replica. Tokens that it created with the command line end with it. To undo, log in there again.
          </p>
        </ActionDialog>
      )}
      {all && (
        <ActionDialog
          title="Log out everywhere?"
          submit="Log out everywhere"
          danger
          onClose={() => setAll(false)}
          run={async () => {
            await unary(Logins.method.endSessions, { user: '', tokens })
            location.assign('/login')
          }}
        >
          <p>{many(data?.sessions.length ?? 0, 'login ends', 'logins end')} within 5 s, also this one: you log in again afterwards.</p>
          <Checkbox label="Revoke my API tokens and bootstrap tokens too" hint="Programs that use them are refused. This cannot be undone; they need new tokens." checked={tokens} onChange={setTokens} />
        </ActionDialog>
      )}
    </>
  )
}
