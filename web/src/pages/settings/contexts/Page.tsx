import { Plus } from 'lucide-react'
import { useState } from 'react'
import { ContextDialog } from './ContextDialog'
import { unary, useCall } from '#/api/call'
import { type Context, Contexts } from '#/api/gen/hub/v1/hub_pb'
import { byConsole, useAgain } from '#/api/manage'
import { useMaySomewhere } from '#/api/may'
import { ActionDialog } from '#/ds/ActionDialog'
import { Button } from '#/ds/Button'
import { Command } from '#/ds/Copy'
import { MayNot } from '#/ds/Forbidden'
import { type Col, Listing } from '#/ds/Listing'
import { ManagedBy } from '#/ds/ManagedBy'
import { PageHeader } from '#/ds/PageHeader'
import { Panel } from '#/ds/Panel'
import { Empty } from '#/ds/State'
import { Muted, many } from '#/ds/Text'
import { toast } from '#/ds/toast'
import { Age } from '#/status/Age'

function keysOf(c: Context): string {
  try {
    return Object.keys(JSON.parse(c.values || '{}') as object).join(', ')
  } catch {
    return ''
  }
}

const cols: Col<Context>[] = [
  { id: 'name', header: 'Context', cell: (c) => c.name },
  { id: 'project', header: 'For', cell: (c) => (c.project ? `project ${c.project}` : 'all projects') },
  { id: 'values', header: 'Values', cell: (c) => keysOf(c) || <Muted>none</Muted> },
  { id: 'secrets', header: 'Secrets', cell: (c) => Object.keys(c.secrets).toSorted().join(', ') || <Muted>none</Muted> },
  { id: 'services', header: 'Services', align: 'end', cell: (c) => c.services },
  { id: 'changed', header: 'Changed', cell: (c) => <><Age at={c.updatedAt} after="ago" /> <Muted>by {c.updatedBy || 'the hub'}</Muted></> },
  { id: 'manager', header: 'Managed by', cell: (c) => <ManagedBy manager={c.managedBy} /> },
]

export function Page() {
  const { data, error, refetch } = useCall(Contexts.method.list, {})
  const create = useMaySomewhere('create')
  const write = useMaySomewhere('write')
  const again = useAgain(Contexts.method.list, Contexts.method.get)
  const [editing, setEditing] = useState<Context | 'new'>()
  const [deleting, setDeleting] = useState<Context>()
  const actions = (c: Context) => (
    <>
      <Button variant="quiet" onClick={() => setEditing(c)} aria-label={`Edit ${c.name}`}>
        Edit
      </Button>
      <Button variant="quiet" onClick={() => setDeleting(c)} aria-label={`Delete ${c.name}`}>
        Delete
      </Button>
    </>
  )
  return (
    <>
      <PageHeader
        title="Contexts"
        actions={
          create.allowed === true && (
            <Button variant="primary" icon={Plus} onClick={() => setEditing('new')}>
              Create a context
            </Button>
          )
        }
      >
        <p>Named values that services bind, with secrets beside them. Secrets are written here and never shown.</p>
        {create.allowed === false && <MayNot what="create contexts" reason={create.reason} />}
      </PageHeader>
      <Panel title={data ? many(data.contexts.length, 'context') : 'Contexts'} flush>
        <Listing
          label="Contexts"
          cols={cols}
          rows={data?.contexts}
          error={error}
          retry={() => void refetch()}
          idOf={(c) => c.name}
          {...(write.allowed ? { actions } : {})}
          empty={
            <Empty title="No contexts yet">
              <Command command="axle servicecontexts create prod region=eu-1 --secret dbPassword=db.password" />
            </Empty>
          }
        />
      </Panel>
      {editing && <ContextDialog {...(editing === 'new' ? {} : { context: editing })} onClose={() => setEditing(undefined)} onDone={again} />}
      {deleting && (
        <ActionDialog
          title={`Delete the context ${deleting.name}?`}
          submit="Delete the context"
          danger
          takeOver
          onClose={() => setDeleting(undefined)}
          run={async (takeOver) => {
            await unary(Contexts.method.delete, { name: deleting.name, management: byConsole(takeOver) })
            await again()
            toast(`${deleting.name} was deleted`)
          }}
        >
          <p>{deleting.services > 0 ? `The hub refuses to delete it as long as ${many(deleting.services, 'service uses', 'services use')} it.` : 'Its values and secrets are gone; no service that you may see uses it. There is no undo: secrets cannot be read before.'}</p>
        </ActionDialog>
      )}
    </>
  )
}
