import { Plus } from 'lucide-react'
import { useState } from 'react'
import styles from '../Settings.module.css'
import { pairsOf, pairsText } from '../pairs'
import { ProofHint } from '../proof'
import { Scopes } from '../scopes'
import { unary } from '#/api/call'
import { Federation, type Trust } from '#/api/gen/hub/v1/audit_pb'
import { byConsole, useAgain } from '#/api/manage'
import { nameProblem } from '#/api/names'
import { rules } from '#/api/rules'
import { ActionDialog } from '#/ds/ActionDialog'
import { Button } from '#/ds/Button'
import { Select, TextArea, TextField } from '#/ds/Form'
import { type Col, Listing } from '#/ds/Listing'
import { ManagedBy } from '#/ds/ManagedBy'
import { Panel } from '#/ds/Panel'
import { Empty } from '#/ds/State'
import { toast } from '#/ds/toast'
import { Age } from '#/status/Age'

const cols: Col<Trust>[] = [
  { id: 'name', header: 'Name', cell: (t) => t.name },
  { id: 'issuer', header: 'Tokens of', grow: true, cell: (t) => <><span>{t.issuer}</span><div className={styles.muted}>{pairsText(t.claims)}</div></> },
  { id: 'account', header: 'Act as', cell: (t) => `${t.account} (${t.scopes.join(', ')})` },
  { id: 'used', header: 'Last used', cell: (t) => <Age at={t.lastUsedAt} after="ago" /> },
  { id: 'manager', header: 'Managed by', cell: (t) => <ManagedBy manager={t.managedBy} /> },
]

interface Props {
  trusts: Trust[] | undefined
  error: unknown
  retry: () => void
  accounts: string[]
}

// Trusts let the jobs of a CI system act as a service account without a stored
// token.
export function Trusts({ trusts, error, retry, accounts }: Props) {
  const again = useAgain(Federation.method.list)
  const [deleting, setDeleting] = useState<Trust>()
  const [adding, setAdding] = useState(false)
  const [form, setForm] = useState({ name: '', issuer: '', audience: '', claims: '', account: '', scopes: ['read'] })
  const set = (change: Partial<typeof form>) => setForm((f) => ({ ...f, ...change }))
  const account = form.account || accounts[0] || ''
  const remove = (t: Trust) => (
    <Button variant="quiet" onClick={() => setDeleting(t)} aria-label={`Delete ${t.name}`}>
      Delete
    </Button>
  )
  const check = () => {
    const problem = nameProblem(rules.account, form.name.trim())
    if (problem) return problem
    if (!form.issuer.startsWith('https://')) return 'Issuer: an https URL, equal to iss in the tokens.'
    if (!form.audience.trim()) return 'Audience: it is missing. Tokens for others must not work here.'
    const claims = pairsOf(form.claims)
    if (typeof claims === 'string') return `Claims: ${claims}`
    if (Object.keys(claims).length === 0) return 'Claims: at least one, or every job of the issuer could act as the account.'
    return account ? undefined : 'Service account: create one first.'
  }
  return (
    <Panel
      title="Trust in CI systems"
      flush
      aside={
        <Button icon={Plus} onClick={() => setAdding(true)} disabled={accounts.length === 0}>
          Add a trust
        </Button>
      }
    >
      <Listing
        label="Trusts"
        cols={cols}
        rows={trusts}
        error={error}
        retry={retry}
        idOf={(t) => t.id}
        actions={remove}
        empty={
          <Empty title="No trust in CI systems">
            <p>With a trust, a job exchanges the token that its CI system gives it for one of a service account, at most 1 h long. Nothing is stored in the CI system.{accounts.length === 0 && ' Create a service account first.'}</p>
          </Empty>
        }
      />
      {adding && (
        <ActionDialog
          title="Add a trust"
          submit="Add"
          wide
          takeOver
          check={check}
          onClose={() => setAdding(false)}
          run={async (takeOver) => {
            const claims = pairsOf(form.claims)
            await unary(Federation.method.create, { name: form.name.trim(), issuer: form.issuer.trim(), audience: form.audience.trim(), claims: typeof claims === 'string' ? {} : claims, account, scopes: form.scopes, management: byConsole(takeOver) })
            await again()
          }}
        >
          <ProofHint />
          <div className={styles.two}>
            <TextField label="Name" value={form.name} onChange={(name) => set({ name })} placeholder="github-fleet" autoFocus />
            <Select label="Service account" value={account} options={accounts.map((value) => ({ value, label: value }))} onChange={(account) => set({ account })} />
            <TextField label="Issuer" value={form.issuer} onChange={(issuer) => set({ issuer })} placeholder="https://token.actions.githubusercontent.com" hint="With OpenID discovery." />
            <TextField label="Audience" value={form.audience} onChange={(audience) => set({ audience })} placeholder={location.origin} hint="One of the token's aud." />
          </div>
          <TextArea label="Claims" value={form.claims} onChange={(claims) => set({ claims })} rows={3} placeholder={'repository=acme/fleet\nref=refs/heads/main'} hint="CLAIM=PATTERN, one a line; all must match. A pattern is a glob, or a regular expression between slashes." />
          <Scopes value={form.scopes} onChange={(scopes) => set({ scopes })} />
        </ActionDialog>
      )}
      {deleting && (
        <ActionDialog
          title={`Delete the trust ${deleting.name}?`}
          submit="Delete the trust"
          danger
          takeOver
          onClose={() => setDeleting(undefined)}
          run={async (takeOver) => {
            await unary(Federation.method.delete, { name: deleting.name, management: byConsole(takeOver) })
            await again()
            toast(`${deleting.name} was deleted`)
          }}
        >
          <p>
            Jobs of {deleting.issuer} with {pairsText(deleting.claims)} can no longer act as {deleting.account}. Tokens that were exchanged live at most 1 h more. Undo: add it again.
          </p>
        </ActionDialog>
      )}
    </Panel>
  )
}
