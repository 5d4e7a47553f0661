import { useNavigate, useSearch } from '@tanstack/react-router'
import { Link } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { GroupMembers } from './GroupMembers'
import { Losses } from '../Losses'
import { unary, useCall } from '#/api/call'
import { type Group, Groups } from '#/api/gen/hub/v1/access_pb'
import { byConsole, useAgain } from '#/api/manage'
import { nameProblem } from '#/api/names'
import { rules } from '#/api/rules'
import { type Search, textOf } from '#/app/search'
import { ActionDialog } from '#/ds/ActionDialog'
import { Button } from '#/ds/Button'
import { Command } from '#/ds/Copy'
import { TextField } from '#/ds/Form'
import { AdminOnly } from '#/ds/Forbidden'
import { type Col, Listing } from '#/ds/Listing'
import { ManagedBy } from '#/ds/ManagedBy'
import { PageHeader } from '#/ds/PageHeader'
import { Panel } from '#/ds/Panel'
import { Empty } from '#/ds/State'
import { Muted, many } from '#/ds/Text'
import { toast } from '#/ds/toast'

const cols: Col<Group>[] = [
  {
    id: 'name',
    header: 'Group',
    cell: (g) => (
      <Link to="/settings/groups" search={{ group: g.name } as never}>
        {g.name}
      </Link>
    ),
  },
  { id: 'description', header: 'Description', grow: true, cell: (g) => g.description || <Muted>none</Muted> },
  { id: 'members', header: 'Members', align: 'end', cell: (g) => g.members },
  { id: 'manager', header: 'Managed by', cell: (g) => <ManagedBy manager={g.managedBy} /> },
]

export function Page() {
  return (
    <AdminOnly title="Groups" what="see groups">
      <All />
    </AdminOnly>
  )
}

function All() {
  const open = textOf((useSearch({ strict: false }) as Search)['group'])
  const navigate = useNavigate()
  const { data, error, refetch } = useCall(Groups.method.list, {})
  const again = useAgain(Groups.method.list, Groups.method.get)
  const [creating, setCreating] = useState(false)
  const [deleting, setDeleting] = useState<Group>()
  const [name, setName] = useState('')
  const [description, setDescription] = useState('')
  const remove = (g: Group) => (
    <Button variant="quiet" onClick={() => setDeleting(g)} aria-label={`Delete ${g.name}`}>
      Delete
    </Button>
  )
  return (
    <>
      <PageHeader
        title="Groups"
        actions={
          <Button variant="primary" icon={Plus} onClick={() => setCreating(true)}>
            Create a group
          </Button>
        }
      >
        <p>Give roles to groups rather than to persons. Login providers put persons into existing groups at each login; clusters see them as Kubernetes groups.</p>
      </PageHeader>
      <Panel title={data ? many(data.groups.length, 'group') : 'Groups'} flush>
        <Listing
          label="Groups"
          cols={cols}
          rows={data?.groups}
          error={error}
          retry={() => void refetch()}
          idOf={(g) => g.id}
          actions={remove}
          empty={
            <Empty title="No groups yet">
              <Command command={'axle groups create "web team"'} />
            </Empty>
          }
        />
      </Panel>
      {open && <GroupMembers name={open} onClose={() => void navigate({ to: '/settings/groups', search: {} as never })} />}
      {creating && (
        <ActionDialog
          title="Create a group"
          submit="Create"
          takeOver
          onClose={() => setCreating(false)}
          check={() => nameProblem(rules.group, name.trim())}
          run={async (takeOver) => {
            await unary(Groups.method.create, { name: name.trim(), description, management: byConsole(takeOver) })
            await again()
            await navigate({ to: '/settings/groups', search: { group: name.trim() } as never })
            setName('')
            setDescription('')
          }}
        >
          <TextField label="Name" value={name} onChange={setName} autoFocus hint="Clusters see it as a Kubernetes group. Names with a colon, such as system:masters, are refused." />
          <TextField label="Description" value={description} onChange={setDescription} />
        </ActionDialog>
      )}
      {deleting && (
        <ActionDialog
          title={`Delete the group ${deleting.name}?`}
          submit="Delete the group"
          danger
          takeOver
          onClose={() => setDeleting(undefined)}
          run={async (takeOver) => {
            await unary(Groups.method.delete, { name: deleting.name, management: byConsole(takeOver) })
            await again()
            toast(`${deleting.name} was deleted`)
          }}
        >
          <p>
            {many(deleting.members, 'member loses', 'members lose')} within 5 s what its roles give, here and on clusters. The members themselves stay. There is no undo: create it again, add the members and give the roles.
          </p>
          <Losses subjectKind="group" subject={deleting.name} lead="These roles end:" />
        </ActionDialog>
      )}
    </>
  )
}
