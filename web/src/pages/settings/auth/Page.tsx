import { Plus } from 'lucide-react'
import { useState } from 'react'
import { ProviderDialog } from './ProviderDialog'
import styles from '../Settings.module.css'
import { pairsText } from '../pairs'
import { unary, useCall } from '#/api/call'
import { type Provider, Providers } from '#/api/gen/hub/v1/login_pb'
import { byConsole, useAgain } from '#/api/manage'
import { ActionDialog } from '#/ds/ActionDialog'
import { Button } from '#/ds/Button'
import { Command } from '#/ds/Copy'
import { Dialog } from '#/ds/Dialog'
import { AdminOnly } from '#/ds/Forbidden'
import { type Col, Listing } from '#/ds/Listing'
import { ManagedBy } from '#/ds/ManagedBy'
import { PageHeader } from '#/ds/PageHeader'
import { Panel } from '#/ds/Panel'
import { Empty } from '#/ds/State'
import { Muted } from '#/ds/Text'
import { toast } from '#/ds/toast'

const cols: Col<Provider>[] = [
  { id: 'name', header: 'Provider', cell: (p) => <>{p.title || p.name}{p.title && p.title !== p.name && <div className={styles.muted}>{p.name}</div>}</> },
  { id: 'issuer', header: 'Issuer', grow: true, cell: (p) => p.issuer },
  { id: 'groups', header: 'Groups', cell: (p) => (p.groupsClaim ? <>{p.groupsClaim}: {pairsText(p.groups) || 'no map'}</> : <Muted>none</Muted>) },
  { id: 'domains', header: 'E-mail domains', cell: (p) => p.emailDomains.join(', ') || <Muted>any</Muted> },
  { id: 'manager', header: 'Managed by', cell: (p) => <ManagedBy manager={p.managedBy} /> },
]

export function Page() {
  return (
    <AdminOnly title="Login providers" what="see login providers">
      <All />
    </AdminOnly>
  )
}

function All() {
  const { data, error, refetch } = useCall(Providers.method.list, {})
  const again = useAgain(Providers.method.list)
  const [editing, setEditing] = useState<Provider | 'new'>()
  const [showing, setShowing] = useState<Provider>()
  const [deleting, setDeleting] = useState<Provider>()
  const actions = (p: Provider) => (
    <>
      <Button variant="quiet" onClick={() => setShowing(p)} aria-label={`URLs of ${p.name}`}>
        URLs
      </Button>
      <Button variant="quiet" onClick={() => setEditing(p)} aria-label={`Edit ${p.name}`}>
        Edit
      </Button>
      <Button variant="quiet" onClick={() => setDeleting(p)} aria-label={`Delete ${p.name}`}>
        Delete
      </Button>
    </>
  )
  return (
    <>
      <PageHeader
        title="Login providers"
        actions={
          <Button variant="primary" icon={Plus} onClick={() => setEditing('new')}>
            Add a provider
          </Button>
        }
      >
        <p>OpenID Connect issuers that people log in through. Your local account stays as the way in when they are down.</p>
      </PageHeader>
      <Panel title="Providers" flush>
        <Listing
          label="Login providers"
          cols={cols}
          rows={data?.providers}
          error={error}
          retry={() => void refetch()}
          idOf={(p) => p.id}
          actions={actions}
          empty={
            <Empty title="No login provider yet">
              <p>
                Register a client at the issuer with the callback URL {location.origin}/login/callback/NAME, then add it here or with:
              </p>
              <Command command="axle providers create okta --issuer https://example.okta.com --client-id 0oa1b2c3 --client-secret-file secret" />
            </Empty>
          }
        />
      </Panel>
      {editing && (
        <ProviderDialog
          {...(editing === 'new' ? {} : { provider: editing })}
          onClose={() => setEditing(undefined)}
          onDone={async (p, made) => {
            await again()
            if (made) setShowing(p)
          }}
        />
      )}
      {showing && (
        <Dialog title={`Set up ${showing.title || showing.name}`} onClose={() => setShowing(undefined)} actions={<Button variant="primary" onClick={() => setShowing(undefined)}>Done</Button>}>
          <p>Enter these at the provider.</p>
          <p>Callback URL</p>
          <Command command={showing.callbackUrl} label="Callback URL" />
          <p>Back-channel logout URL, if the provider supports it</p>
          <Command command={showing.logoutUrl} label="Back-channel logout URL" />
          <p>
            People log in with this address, or with the button on the login page. Keep this window logged in until somebody did.
          </p>
          <Command command={`${location.origin}/login/oidc/${showing.name}`} label="Address of the login" />
        </Dialog>
      )}
      {deleting && (
        <ActionDialog
          title={`Delete the login provider ${deleting.title || deleting.name}?`}
          submit="Delete the provider"
          danger
          takeOver
          onClose={() => setDeleting(undefined)}
          run={async (takeOver) => {
            await unary(Providers.method.delete, { name: deleting.name, management: byConsole(takeOver) })
            await again()
            toast(`${deleting.name} was deleted`)
          }}
        >
          <p>
            Everybody who is logged in through it is logged out within 5 s and cannot log in this way again. The memberships that it gave end
            {Object.keys(deleting.groups).length > 0 && `: ${[...new Set(Object.values(deleting.groups))].join(', ')}`}. Users, their roles and tokens stay.
          </p>
          <p>Make sure that you can log in another way: with a local password, another provider, or an administrator's token. There is no undo: add it again with its client secret.</p>
        </ActionDialog>
      )}
    </>
  )
}
