import { Plus } from 'lucide-react'
import { useState } from 'react'
import styles from '../Settings.module.css'
import { unary, useCall } from '#/api/call'
import { type CreatedWebhook, Repositories, type Webhook, Webhooks } from '#/api/gen/hub/v1/hub_pb'
import { byConsole, useAgain } from '#/api/manage'
import { useMaySomewhere } from '#/api/may'
import { nameProblem } from '#/api/names'
import { rules, words } from '#/api/rules'
import { session } from '#/api/session'
import { ActionDialog } from '#/ds/ActionDialog'
import { Button } from '#/ds/Button'
import { Command, CopyButton } from '#/ds/Copy'
import { Select, TextField } from '#/ds/Form'
import { MayNot } from '#/ds/Forbidden'
import { type Col, Listing } from '#/ds/Listing'
import { ManagedBy } from '#/ds/ManagedBy'
import { PageHeader } from '#/ds/PageHeader'
import { Panel } from '#/ds/Panel'
import { SecretOnce } from '#/ds/Secret'
import { Empty } from '#/ds/State'
import { Muted } from '#/ds/Text'
import { toast } from '#/ds/toast'
import { Age } from '#/status/Age'

const labels: Record<(typeof words.webhookProviders)[number], string> = { github: 'GitHub', gitlab: 'GitLab', gitea: 'Gitea, Forgejo', bitbucket: 'Bitbucket', azure: 'Azure DevOps', generic: 'Any other' }
const providers = words.webhookProviders.map((value) => ({ value, label: labels[value] }))

const cols: Col<Webhook>[] = [
  { id: 'name', header: 'Name', cell: (w) => w.name },
  { id: 'provider', header: 'From', cell: (w) => providers.find((p) => p.value === w.provider)?.label ?? w.provider },
  { id: 'repository', header: 'Repository', cell: (w) => w.repository || <Muted>any</Muted> },
  {
    id: 'url',
    header: 'URL',
    grow: true,
    cell: (w) => (
      <span className={styles.beside}>
        <span className={styles.code}>{w.url}</span>
        <CopyButton text={w.url} label={`Copy the URL of ${w.name}`} />
      </span>
    ),
  },
  { id: 'last', header: 'Last delivery', cell: (w) => (w.deliveredAt ? <><Age at={w.deliveredAt} after="ago" />: {w.outcome}</> : <Muted>none yet</Muted>) },
  { id: 'manager', header: 'Managed by', cell: (w) => <ManagedBy manager={w.managedBy} /> },
]

export function Page() {
  const { data, error, refetch } = useCall(Webhooks.method.list, {})
  const may = useMaySomewhere('git')
  const again = useAgain(Webhooks.method.list)
  const [creating, setCreating] = useState(false)
  const [made, setMade] = useState<CreatedWebhook>()
  const [deleting, setDeleting] = useState<Webhook>()
  const remove = (w: Webhook) => (
    <Button variant="quiet" onClick={() => setDeleting(w)} aria-label={`Delete ${w.name}`}>
      Delete
    </Button>
  )
  return (
    <>
      <PageHeader
        title="Webhooks"
        actions={
          may.allowed === true && (
            <Button variant="primary" icon={Plus} onClick={() => setCreating(true)}>
              Create a webhook
            </Button>
          )
        }
      >
        <p>With a webhook, an upstream announces a push, and the hub fetches at once instead of within 2 minutes.</p>
        {may.allowed === false && <MayNot what="create webhooks" reason={may.reason} />}
      </PageHeader>
      <Panel title="Webhooks" flush>
        <Listing
          label="Webhooks"
          cols={cols}
          rows={data?.webhooks}
          error={error}
          retry={() => void refetch()}
          idOf={(w) => w.id}
          {...(may.allowed ? { actions: remove } : {})}
          empty={
            <Empty title="No webhooks yet">
              <Command command="axle webhooks create fleet --provider github --repository fleet" />
            </Empty>
          }
        />
      </Panel>
      {creating && (
        <CreateWebhook
          onClose={() => setCreating(false)}
          onMade={async (w) => {
            await again()
            setMade(w)
          }}
        />
      )}
      {made && (
        <SecretOnce title={`Set up ${made.webhook?.name}`} label="Secret, for signing" secret={made.secret} onClose={() => setMade(undefined)}>
          <p>URL, with the content type application/json and the push event</p>
          <Command command={made.webhook?.url ?? ''} label="URL" />
        </SecretOnce>
      )}
      {deleting && (
        <ActionDialog
          title={`Delete the webhook ${deleting.name}?`}
          submit="Delete the webhook"
          danger
          takeOver
          onClose={() => setDeleting(undefined)}
          run={async (takeOver) => {
            await unary(Webhooks.method.delete, { name: deleting.name, management: byConsole(takeOver) })
            await again()
            toast(`${deleting.name} was deleted`)
          }}
        >
          <p>Later deliveries to its URL are refused; {deleting.repository ? `${deleting.repository} is` : 'the repositories are'} then fetched within 2 minutes. There is no undo: a new one has another URL and secret.</p>
        </ActionDialog>
      )}
    </>
  )
}

function CreateWebhook({ onClose, onMade }: { onClose: () => void; onMade: (w: CreatedWebhook) => Promise<void> }) {
  const repositories = useCall(Repositories.method.list, {})
  const [name, setName] = useState('')
  const [provider, setProvider] = useState<string>('github')
  const [repository, setRepository] = useState('')
  const [secret, setSecret] = useState('')
  const check = () => {
    const problem = nameProblem(rules.name, name.trim())
    if (problem) return problem
    if (!session().admin && !repository) return 'Repository: choose one. One for any repository needs git on the whole hub.'
    return secret && new TextEncoder().encode(secret).length < 16 ? 'Secret: at least 16 bytes, or leave it empty.' : undefined
  }
  const options = (repositories.data?.repositories ?? []).map((r) => ({ value: r.name, label: r.name }))
  return (
    <ActionDialog title="Create a webhook" submit="Create" takeOver check={check} onClose={onClose} run={async (takeOver) => onMade(await unary(Webhooks.method.create, { name: name.trim(), provider, repository, secret, management: byConsole(takeOver) }))}>
      <TextField label="Name" value={name} onChange={setName} autoFocus />
      <Select label="From" value={provider} options={providers} onChange={setProvider} />
      <Select label="Repository" value={repository} options={[{ value: '', label: 'Any whose URL a delivery names' }, ...options]} onChange={setRepository} hint="A delivery can only make the hub fetch; it carries no content." />
      <TextField label="Secret (optional)" type="password" autoComplete="new-password" value={secret} onChange={setSecret} hint="At least 16 bytes. Empty: the hub makes one and shows it once." />
    </ActionDialog>
  )
}
