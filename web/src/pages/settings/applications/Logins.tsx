import { useState } from 'react'
import { unary, useCall } from '#/api/call'
import { type ApplicationLogin, ApplicationClients } from '#/api/gen/hub/v1/application_pb'
import { Logins as Calls } from '#/api/gen/hub/v1/login_pb'
import { useAgain } from '#/api/manage'
import { ActionDialog } from '#/ds/ActionDialog'
import { Button } from '#/ds/Button'
import { type Col, Listing } from '#/ds/Listing'
import { Panel } from '#/ds/Panel'
import { Empty } from '#/ds/State'
import { Muted, many } from '#/ds/Text'
import { toast } from '#/ds/toast'
import { Age } from '#/status/Age'

// What a scope is, as the page said it on which the person agreed; an application may have asked for others too.
const given: Record<string, string> = { openid: 'account', profile: 'name', email: 'e-mail address', groups: 'groups', offline_access: 'access while away' }

const last: Col<ApplicationLogin>[] = [
  { id: 'last', header: 'Last login', cell: (l) => <Age at={l.lastLoginAt} after="ago" never="unknown" /> },
  { id: 'live', header: 'Logins now', align: 'end', cell: (l) => l.live },
  { id: 'scopes', header: 'Agreed to give', grow: true, cell: (l) => l.scopes.map((s) => given[s] ?? s).join(', ') || <Muted>a device only</Muted> },
  { id: 'agreed', header: 'Agreed', cell: (l) => <Age at={l.agreedAt} after="ago" never="not yet" /> },
]
const ofApplication: Col<ApplicationLogin>[] = [{ id: 'user', header: 'Person', cell: (l) => l.user }, ...last]
const ofPerson: Col<ApplicationLogin>[] = [{ id: 'application', header: 'Application', cell: (l) => l.title || l.application }, ...last]

// Logins are the people who logged in to an application last.
export function Logins({ name }: { name: string }) {
  const { data, error, refetch } = useCall(ApplicationClients.method.listLogins, { name })
  const again = useAgain(ApplicationClients.method.listLogins)
  const [ending, setEnding] = useState<ApplicationLogin>()
  const end = (l: ApplicationLogin) => (
    <Button variant="quiet" disabled={l.live === 0} onClick={() => setEnding(l)} aria-label={`End logins of ${l.user}`}>
      End
    </Button>
  )
  return (
    <Panel title={`Last logins to ${name}`} flush>
      <Listing label={`Logins to ${name}`} cols={ofApplication} rows={data?.logins} error={error} retry={() => void refetch()} idOf={(l) => l.user} actions={end} empty={<Empty title="Nobody has logged in yet" />} />
      {ending && (
        <ActionDialog
          title={`End the logins of ${ending.user}?`}
          submit="End them"
          danger
          onClose={() => setEnding(undefined)}
          run={async () => {
            const { ended } = await unary(ApplicationClients.method.endLogins, { name, user: ending.user })
            await again()
            toast(`${many(ended, 'login')} ended`)
          }}
        >
          <p>
            Tokens and refresh tokens of {ending.user} for {name} are refused within 10 s, and an application with back-channel logout is notified. They may log in again: to keep them out, take them off the list of those who may.
          </p>
        </ActionDialog>
      )}
    </Panel>
  )
}

// MyApplications are those that a person agreed to log in to.
export function MyApplications() {
  const { data, error, refetch } = useCall(Calls.method.listApplications, {})
  const again = useAgain(Calls.method.listApplications)
  const [leaving, setLeaving] = useState<ApplicationLogin>()
  const leave = (l: ApplicationLogin) => (
    <Button variant="quiet" onClick={() => setLeaving(l)} aria-label={`Revoke ${l.title || l.application}`}>
      Revoke
    </Button>
  )
  return (
    <Panel title="Applications that you log in to" flush>
      <Listing label="Your applications" cols={ofPerson} rows={data?.logins} error={error} retry={() => void refetch()} idOf={(l) => l.clientId} actions={leave} empty={<Empty title="None yet: an application asks you once, at your first login there" />} />
      {leaving && (
        <ActionDialog
          title={`Revoke ${leaving.title || leaving.application}?`}
          submit="Revoke"
          danger
          onClose={() => setLeaving(undefined)}
          run={async () => {
            const { ended } = await unary(Calls.method.leaveApplication, { clientId: leaving.clientId })
            await again()
            toast(`Revoked: ${many(ended, 'login')} ended`)
          }}
        >
          <p>Your logins there end within 10 s, also those that it keeps while you are away. It asks you again when you log in the next time.</p>
        </ActionDialog>
      )}
    </Panel>
  )
}
