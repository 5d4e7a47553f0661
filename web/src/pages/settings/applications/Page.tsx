import { Plus } from 'lucide-react'
import { useState } from 'react'
import { ApplicationDialog } from './ApplicationDialog'
import { Logins } from './Logins'
import styles from '../Settings.module.css'
import { unary, useCall } from '#/api/call'
import { type ApplicationSettings, ApplicationClients } from '#/api/gen/hub/v1/application_pb'
import { type Application, Applications } from '#/api/gen/hub/v1/application_calls_pb'
import { byConsole, useAgain } from '#/api/manage'
import { useMaySomewhere } from '#/api/may'
import { ActionDialog } from '#/ds/ActionDialog'
import { Button } from '#/ds/Button'
import { Command, CopyButton } from '#/ds/Copy'
import { type Col, Listing } from '#/ds/Listing'
import { ManagedBy } from '#/ds/ManagedBy'
import { PageHeader } from '#/ds/PageHeader'
import { Panel } from '#/ds/Panel'
import { Empty, ErrorPanel } from '#/ds/State'
import { Facts, Muted } from '#/ds/Text'
import { toast } from '#/ds/toast'
import { Age } from '#/status/Age'

// people are those who may log in.
function people(s: ApplicationSettings | undefined): string {
  return [...(s?.users ?? []), ...(s?.groups ?? []).map((g) => `group ${g}`)].join(', ') || 'nobody'
}

const cols: Col<Application>[] = [
  { id: 'name', header: 'Name', cell: (a) => <><span>{a.settings?.title || a.name}</span>{a.settings?.title && <div className={styles.muted}>{a.name}</div>}</> },
  { id: 'project', header: 'Project', cell: (a) => a.settings?.project },
  { id: 'cluster', header: 'Cluster', cell: (a) => (a.settings?.cluster ? `${a.settings.cluster}, namespace ${a.settings.namespace}` : <Muted>none</Muted>) },
  { id: 'people', header: 'People who may log in', grow: true, cell: (a) => people(a.settings) },
  { id: 'manager', header: 'Managed by', cell: (a) => <ManagedBy manager={a.managedBy} /> },
]

export function Page() {
  const { data, error, refetch } = useCall(Applications.method.list, {})
  const write = useMaySomewhere('write')
  const again = useAgain(Applications.method.list)
  const [shown, setShown] = useState('')
  const [editing, setEditing] = useState<Application | 'new'>()
  const [deleting, setDeleting] = useState<Application>()
  const one = data?.applications.find((a) => a.name === shown)
  const actions = (a: Application) => (
    <>
      <Button variant="quiet" onClick={() => setShown(a.name === shown ? '' : a.name)} aria-expanded={a.name === shown} aria-label={`Details of ${a.name}`}>
        Details
      </Button>
      {write.allowed && (
        <>
          <Button variant="quiet" onClick={() => setEditing(a)} aria-label={`Edit ${a.name}`}>
            Edit
          </Button>
          <Button variant="quiet" onClick={() => setDeleting(a)} aria-label={`Delete ${a.name}`}>
            Delete
          </Button>
        </>
      )}
    </>
  )
  return (
    <>
      <PageHeader
        title="Applications"
        actions={
          write.allowed && (
            <Button variant="primary" icon={Plus} onClick={() => setEditing('new')}>
              Add an application
            </Button>
          )
        }
      >
        <p>People log in to these applications by the hub: with its sessions, second factors and groups.</p>
      </PageHeader>
      <Panel title="Applications" flush>
        <Listing
          label="Applications"
          cols={cols}
          rows={data?.applications}
          error={error}
          retry={() => void refetch()}
          idOf={(a) => a.id}
          actions={actions}
          empty={
            <Empty title="No applications yet">
              <Command command={'axle applications apply grafana --project default \\\n  --cluster edge-1 --namespace monitoring \\\n  --redirect-uris https://grafana.example.com/cb --groups admins'} />
            </Empty>
          }
        />
      </Panel>
      {one && <Details key={one.id} application={one} />}
      {one && write.allowed && <Logins key={`logins of ${one.id}`} name={one.name} />}
      {editing && <ApplicationDialog {...(editing === 'new' ? {} : { application: editing })} onClose={() => setEditing(undefined)} onDone={again} />}
      {deleting && (
        <ActionDialog
          title={`Delete the application ${deleting.name}?`}
          submit="Delete"
          danger
          takeOver
          onClose={() => setDeleting(undefined)}
          run={async (takeOver) => {
            await unary(Applications.method.delete, { name: deleting.name, management: byConsole(takeOver) })
            await again()
            toast(`${deleting.name} was deleted`)
          }}
        >
          <p>Nobody logs in to it any more: its client, the Secret on its cluster and all tokens go, and what people agreed to is forgotten. To undo, add it again; it gets another client id and secret.</p>
        </ActionDialog>
      )}
    </>
  )
}

function Details({ application }: { application: Application }) {
  const { data, error, refetch } = useCall(ApplicationClients.method.get, { name: application.name })
  const s = application.settings
  const former = data?.secrets[1]
  if (error) return <ErrorPanel title={`Can't read the client of ${application.name}`} error={error} retry={() => void refetch()} />
  return (
    <Panel title={`Client of ${application.name}`}>
      <div className={styles.stack}>
        <Facts
          facts={[
            { label: 'Client id', value: <span className={styles.beside}><span className={styles.code}>{data?.clientId}</span><CopyButton text={data?.clientId ?? ''} label="Copy the client id" /></span> },
            { label: 'Secret', value: s?.public ? 'none: a public client' : <Age at={data?.secrets[0]?.createdAt ?? 0n} after="old" /> },
            { label: 'Former secret', value: former ? (former.endsAt ? `ends at ${new Date(Number(former.endsAt / 1000n)).toLocaleString()}` : 'valid until the agent has reported the new one') : 'none' },
            { label: 'Delivery', value: data?.message || (data?.delivered ? `${s?.cluster}/${application.name}-oidc` : 'none') },
            { label: 'Issuer', value: <span className={styles.code}>{data?.issuer}</span>, wide: true },
            { label: 'Redirect URIs', value: s?.redirectUris.join(' ') || 'none', wide: true },
          ]}
        />
        <h3>Replace the secret</h3>
        <Command command={`axle applications rotate ${application.name}`} />
      </div>
    </Panel>
  )
}
