import { UserPlus, X } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import styles from '../Settings.module.css'
import { unary, useCall } from '#/api/call'
import { type GroupMember, Groups, Users } from '#/api/gen/hub/v1/access_pb'
import { byConsole, useAgain } from '#/api/manage'
import { ActionDialog } from '#/ds/ActionDialog'
import { Button, IconButton } from '#/ds/Button'
import { TextField } from '#/ds/Form'
import { type Col, Listing } from '#/ds/Listing'
import { ManagedBy } from '#/ds/ManagedBy'
import { Panel } from '#/ds/Panel'
import { Empty, ErrorPanel } from '#/ds/State'
import { many } from '#/ds/Text'
import { toast } from '#/ds/toast'

// sourceText says what put somebody into the group.
function sourceText(m: GroupMember): string {
  return m.sources.map((s) => (s ? `login provider ${s}` : 'added by a person or a tool')).join(', ') || 'added by a person or a tool'
}

const cols: Col<GroupMember>[] = [
  { id: 'name', header: 'Member', cell: (m) => m.name },
  { id: 'kind', header: 'Kind', cell: (m) => m.kind.replace('_', ' ') },
  { id: 'source', header: 'Source', grow: true, cell: sourceText },
  { id: 'manager', header: 'Managed by', cell: (m) => <ManagedBy manager={m.managedBy} /> },
]

export function GroupMembers({ name, onClose }: { name: string; onClose: () => void }) {
  const { data, error, refetch } = useCall(Groups.method.get, { name })
  const users = useCall(Users.method.list, {})
  const again = useAgain(Groups.method.list, Groups.method.get, Users.method.list)
  const [user, setUser] = useState('')
  const [busy, setBusy] = useState(false)
  const [failed, setFailed] = useState<unknown>()
  const [removing, setRemoving] = useState<GroupMember>()
  const add = async (event: FormEvent) => {
    event.preventDefault()
    if (!user.trim()) return
    setBusy(true)
    setFailed(undefined)
    try {
      await unary(Groups.method.addMember, { group: name, user: user.trim(), management: byConsole() })
      await again()
      setUser('')
      toast(`${user.trim()} is a member of ${name} everywhere within 5 s`)
    } catch (e) {
      setFailed(e)
    } finally {
      setBusy(false)
    }
  }
  const members = data?.member
  const inside = new Set(members?.map((m) => m.name))
  const given = removing?.sources.filter(Boolean) ?? []
  const remove = (m: GroupMember) => (
    <Button variant="quiet" onClick={() => setRemoving(m)} aria-label={`Remove ${m.name}`}>
      Remove
    </Button>
  )
  return (
    <>
      <Panel title={`Members of ${name}`} flush aside={<IconButton icon={X} label="Close" onClick={onClose} />}>
        <form className={`${styles.end} ${styles.pad}`} onSubmit={(e) => void add(e)}>
          <TextField label="Add a user or service account" value={user} onChange={setUser} list="group-candidates" autoComplete="off" placeholder="ann@example.com" />
          <datalist id="group-candidates">
            {users.data?.users
              .filter((u) => !inside.has(u.name))
              .slice(0, 500)
              .map((u) => (
                <option key={u.id} value={u.name}>
                  {u.name}
                </option>
              ))}
          </datalist>
          <Button type="submit" icon={UserPlus} busy={busy} disabled={!user.trim()}>
            Add
          </Button>
        </form>
        {failed !== undefined && (
          <div className={styles.pad}>
            <ErrorPanel title="Not added" error={failed} newTab />
          </div>
        )}
        <Listing label={`Members of ${name}`} cols={cols} rows={members} error={error} retry={() => void refetch()} idOf={(m) => m.name} actions={remove} empty={<Empty title="No members yet" />} />
      </Panel>
      {removing && (
        <ActionDialog
          title={`Remove ${removing.name} from ${name}?`}
          submit="Remove"
          danger
          takeOver
          onClose={() => setRemoving(undefined)}
          run={async (takeOver) => {
            await unary(Groups.method.removeMember, { group: name, user: removing.name, management: byConsole(takeOver) })
            await again()
            toast(`${removing.name} is no longer a member of ${name}`)
          }}
        >
          <p>
            {removing.name} loses within 5 s what the roles of {name} give. Undo: add them again.
          </p>
          {given.length > 0 && (
            <p>
              {many(given.length, 'login provider')} ({given.join(', ')}) put them into the group and will do so again at the next login. Change it there, or in the provider's map of groups.
            </p>
          )}
        </ActionDialog>
      )}
    </>
  )
}
