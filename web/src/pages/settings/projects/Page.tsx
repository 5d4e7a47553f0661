import { Link } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { ProjectDialog } from './ProjectDialog'
import { limitsText } from './form'
import styles from '../Settings.module.css'
import { unary, useCall } from '#/api/call'
import { type Project, Projects } from '#/api/gen/hub/v1/hub_pb'
import { byConsole, useAgain } from '#/api/manage'
import { session } from '#/api/session'
import { ActionDialog } from '#/ds/ActionDialog'
import { Button } from '#/ds/Button'
import { Command } from '#/ds/Copy'
import { MayNot } from '#/ds/Forbidden'
import { type Col, Listing } from '#/ds/Listing'
import { ManagedBy } from '#/ds/ManagedBy'
import { PageHeader } from '#/ds/PageHeader'
import { Panel } from '#/ds/Panel'
import { Empty } from '#/ds/State'
import { many } from '#/ds/Text'
import { toast } from '#/ds/toast'

const cols: Col<Project>[] = [
  { id: 'name', header: 'Project', cell: (p) => <>{p.name}{p.description && <div className={styles.muted}>{p.description}</div>}</> },
  {
    id: 'clusters',
    header: 'Clusters',
    align: 'end',
    cell: (p) => (
      <Link to="/clusters" search={{ project: p.name } as never}>
        {p.clusters}
      </Link>
    ),
  },
  {
    id: 'services',
    header: 'Services',
    align: 'end',
    cell: (p) => (
      <Link to="/services" search={{ project: p.name } as never}>
        {p.services}
      </Link>
    ),
  },
  { id: 'limits', header: 'Limits', grow: true, cell: (p) => limitsText(p.limits, p.name) },
  {
    id: 'manager',
    header: 'Managed by',
    cell: (p) => (
      <>
        <ManagedBy manager={p.managedBy} />
        {p.limitsManagedBy && (
          <div className={styles.muted}>
            limits: <ManagedBy manager={p.limitsManagedBy} />
          </div>
        )}
      </>
    ),
  },
]

export function Page() {
  const { admin } = session()
  const { data, error, refetch } = useCall(Projects.method.list, {})
  const again = useAgain(Projects.method.list)
  const [editing, setEditing] = useState<Project | 'new'>()
  const [deleting, setDeleting] = useState<Project>()
  const actions = (p: Project) => (
    <>
      <Button variant="quiet" onClick={() => setEditing(p)} aria-label={`Edit ${p.name}`}>
        Edit
      </Button>
      {p.name !== 'default' && (
        <Button variant="quiet" onClick={() => setDeleting(p)} aria-label={`Delete ${p.name}`}>
          Delete
        </Button>
      )}
    </>
  )
  return (
    <>
      <PageHeader
        title="Projects"
        actions={
          admin && (
            <Button variant="primary" icon={Plus} onClick={() => setEditing('new')}>
              Create a project
            </Button>
          )
        }
      >
        <p>A project groups clusters, repositories and services, for roles and for limits: what its services may touch, and when.</p>
        {!admin && <MayNot what="change projects" reason="administrators do." />}
      </PageHeader>
      <Panel title={data ? many(data.projects.length, 'project') : 'Projects'} flush>
        <Listing
          label="Projects"
          cols={cols}
          rows={data?.projects}
          error={error}
          retry={() => void refetch()}
          idOf={(p) => p.id}
          {...(admin ? { actions } : {})}
          empty={
            <Empty title="No project that you may see">
              <Command command={`axle auth bind --user ${session().name} --action read --project NAME`} />
            </Empty>
          }
        />
      </Panel>
      {editing && <ProjectDialog {...(editing === 'new' ? {} : { project: editing })} onClose={() => setEditing(undefined)} onDone={again} />}
      {deleting && (
        <ActionDialog
          title={`Delete the project ${deleting.name}?`}
          submit="Delete the project"
          danger
          takeOver
          onClose={() => setDeleting(undefined)}
          run={async (takeOver) => {
            await unary(Projects.method.delete, { name: deleting.name, management: byConsole(takeOver) })
            await again()
            toast(`${deleting.name} was deleted`)
          }}
        >
          {deleting.clusters + deleting.services > 0 ? (
            <p>
              It has {many(deleting.clusters, 'cluster')} and {many(deleting.services, 'service')}. The hub deletes only empty projects and will refuse; delete those first.
            </p>
          ) : (
            <p>Roles that are given on it end, and its limits are gone. Undo: create it again, and give the roles again.</p>
          )}
        </ActionDialog>
      )}
    </>
  )
}
