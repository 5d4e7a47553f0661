import { Plus } from 'lucide-react'
import { useState } from 'react'
import { UserActions, type UserAct } from './UserActions'
import { CreateUser } from './CreateUser'
import styles from '../Settings.module.css'
import { useCall } from '#/api/call'
import { type CreateUserResponse, type User, Users } from '#/api/gen/hub/v1/access_pb'
import { useAgain } from '#/api/manage'
import { session } from '#/api/session'
import { Button } from '#/ds/Button'
import { TextField } from '#/ds/Form'
import { AdminOnly } from '#/ds/Forbidden'
import { type Col, Listing } from '#/ds/Listing'
import { ManagedBy } from '#/ds/ManagedBy'
import { MenuButton } from '#/ds/Menu'
import { PageHeader } from '#/ds/PageHeader'
import { Panel } from '#/ds/Panel'
import { SecretOnce } from '#/ds/Secret'
import { Empty } from '#/ds/State'
import { Badge, Muted, Tag, many } from '#/ds/Text'
import { Age, Time } from '#/status/Age'

const cols: Col<User>[] = [
  {
    id: 'name',
    header: 'E-mail',
    grow: true,
    cell: (u) => (
      <span className={styles.inline}>
        {u.name} {u.admin && <Badge tone="busy">administrator</Badge>} {u.name === session().name && <Muted>you</Muted>}
      </span>
    ),
  },
  { id: 'groups', header: 'Groups', cell: (u) => (u.groups.length ? <span className={styles.inline}>{u.groups.map((g) => <Tag key={g}>{g}</Tag>)}</span> : <Muted>none</Muted>) },
  { id: 'created', header: 'Created', cell: (u) => <Age at={u.createdAt} after="ago" /> },
  { id: 'manager', header: 'Managed by', cell: (u) => <ManagedBy manager={u.managedBy} /> },
]

export function Page() {
  return (
    <AdminOnly title="Users" what="see users">
      <People />
    </AdminOnly>
  )
}

function People() {
  const { data, error, refetch } = useCall(Users.method.list, {})
  const again = useAgain(Users.method.list)
  const [q, setQ] = useState('')
  const [creating, setCreating] = useState(false)
  const [made, setMade] = useState<CreateUserResponse>()
  const [act, setAct] = useState<{ user: User; what: UserAct }>()
  const people = data?.users.filter((u) => u.kind === 'user')
  const admins = people?.filter((u) => u.admin).length ?? 0
  const rows = people?.filter((u) => `${u.name} ${u.groups.join(' ')} ${u.admin ? 'administrator' : ''}`.toLowerCase().includes(q.toLowerCase()))
  const menu = (u: User) => (
    <MenuButton
      label={`Actions for ${u.name}`}
      items={[
        u.admin
          ? { id: 'revoke', label: 'No longer an administrator', disabled: admins === 1 ? 'the last administrator stays' : undefined, run: () => setAct({ user: u, what: 'revoke' }) }
          : { id: 'admin', label: 'Make an administrator', run: () => setAct({ user: u, what: 'admin' }) },
        { id: 'end', label: 'Log out everywhere', run: () => setAct({ user: u, what: 'end' }) },
        { id: 'unlink', label: 'Unlink from login providers', run: () => setAct({ user: u, what: 'unlink' }) },
        { id: 'delete', label: 'Delete', danger: true, apart: true, disabled: u.admin && admins === 1 ? 'the last administrator stays' : undefined, run: () => setAct({ user: u, what: 'delete' }) },
      ]}
    >
      Actions
    </MenuButton>
  )
  return (
    <>
      <PageHeader
        title="Users"
        actions={
          <Button variant="primary" icon={Plus} onClick={() => setCreating(true)}>
            Create a user
          </Button>
        }
      >
        <p>Persons appear here when they log in through a provider for the first time, or when you create them before that. Which provider put somebody into a group is shown with the group.</p>
      </PageHeader>
      <Panel title={people ? many(people.length, 'user') : 'Users'} flush aside={<TextField label="Filter" hideLabel placeholder="Name, group, administrator…" value={q} onChange={setQ} />}>
        <Listing label="Users" cols={cols} rows={rows} error={error} retry={() => void refetch()} idOf={(u) => u.id} actions={menu} empty={<Empty title="No user matches" actions={<Button onClick={() => setQ('')}>Clear the filter</Button>} />} />
      </Panel>
      {creating && (
        <CreateUser
          onClose={() => setCreating(false)}
          onMade={(answer) => {
            void again()
            if (answer.token) setMade(answer)
          }}
        />
      )}
      {made && (
        <SecretOnce title={`First token of ${made.user?.name}`} label="Token" secret={made.token} onClose={() => setMade(undefined)}>
          <p>
            It expires <Time at={made.tokenExpiresAt} />. Send it to them in a way that only they can read.
          </p>
        </SecretOnce>
      )}
      {act && <UserActions user={act.user} what={act.what} onClose={() => setAct(undefined)} onDone={again} />}
    </>
  )
}
