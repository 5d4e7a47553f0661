import { KeyRound } from 'lucide-react'
import { useState } from 'react'
import { Credentials } from './Credentials'
import { type RepositoryForm, credentialsOf, emptyForm, exampleOf, formOf, movedBy, optionsOf, problemIn, verifyModes } from './form'
import { kinds } from './list'
import styles from './Repositories.module.css'
import { unary, useCall } from '#/api/call'
import { Projects, Repositories, type Repository } from '#/api/gen/hub/v1/hub_pb'
import { byConsole, declares, useAgain } from '#/api/manage'
import { session } from '#/api/session'
import { ActionDialog } from '#/ds/ActionDialog'
import { Checkbox, Select, TextArea, TextField } from '#/ds/Form'
import { ManagedBy } from '#/ds/ManagedBy'
import { Banner } from '#/ds/State'
import { toast } from '#/ds/toast'

interface Props {
  // The one to change; without it a new one.
  repository?: Repository
  onClose: () => void
  onDone?: (name: string) => void
}

// RepositoryDialog adds or changes a repository. Credentials go to the hub and
// never come back: what is stored is replaced or kept, not edited.
export function RepositoryDialog({ repository, onClose, onDone }: Props) {
  const [before] = useState<RepositoryForm | undefined>(repository && formOf(repository))
  const [form, setForm] = useState<RepositoryForm>(before ?? emptyForm)
  const projects = useCall(Projects.method.list, {}, { enabled: !repository })
  const again = useAgain(Repositories.method.list, Repositories.method.get)
  const set = (change: Partial<RepositoryForm>) => setForm((f) => ({ ...f, ...change }))
  const moved = before ? movedBy(before, form) : []
  const renew = form.renew || moved.length > 0
  const whole = { ...form, renew }
  const modes = verifyModes[form.type] ?? []

  const run = async (takeOver: boolean) => {
    const management = byConsole(takeOver)
    const options = optionsOf(whole)
    if (repository) {
      const changed = JSON.stringify(optionsOf(before!), plain) !== JSON.stringify(options, plain)
      await unary(Repositories.method.update, {
        name: repository.name,
        management,
        ...(changed || !renew ? { options } : {}),
        ...(form.url === before!.url ? {} : { url: form.url }),
        ...(renew ? { auth: form.auth, credentials: credentialsOf(whole) } : {}),
      })
    } else {
      await unary(Repositories.method.create, { name: form.name, project: form.project, type: form.type, url: form.url, auth: form.auth, credentials: credentialsOf(whole), options, management })
    }
    await again()
    toast(repository ? `${repository.name} changed: it is fetched again` : `${form.name} added: its first fetch has begun`)
    onDone?.(form.name)
  }

  return (
    <ActionDialog title={repository ? `Edit ${repository.name}` : 'Add a repository'} submit={repository ? 'Save' : 'Add the repository'} run={run} takeOver check={() => problemIn(whole, before)} onClose={onClose} wide>
      {repository && declares(repository.managedBy) && <ManagedBy manager={repository.managedBy} prefix />}
      {!repository && (
        <div className={styles.two}>
          <Select label="Type" value={form.type} options={kinds.map((k) => ({ value: k, label: { git: 'Git', helm: 'Helm charts', oci: 'OCI registry', bucket: 'Bucket' }[k] ?? k }))} onChange={(type) => set({ type, auth: 'none', verify: '' })} />
          <TextField label="Name" value={form.name} onChange={(name) => set({ name })} placeholder="fleet" autoFocus hint="Unique in the whole hub." />
        </div>
      )}
      <TextField label="URL" value={form.url} onChange={(url) => set({ url })} inputMode="url" autoComplete="off" spellCheck={false} hint={`Such as ${exampleOf(form.type)}.`} />
      {!repository && (
        <Select
          label="Project"
          value={form.project}
          options={[{ value: '', label: 'default' }, ...(projects.data?.projects ?? []).filter((p) => p.name !== 'default').map((p) => ({ value: p.name, label: p.name }))]}
          onChange={(project) => set({ project })}
          hint="Decides who may read and change it. It cannot be changed later."
        />
      )}
      {moved.length > 0 && (
        <Banner tone="warn" icon={KeyRound}>
          The {moved.join(', ')} changed, so give the credentials again. The stored ones are never sent to an address that they were not given for.
          {moved.includes('URL') && ' The repository starts over; services keep their content until its first fetch.'}
        </Banner>
      )}
      {repository && moved.length === 0 && form.auth !== 'none' && <Checkbox label="Replace the credentials" hint="The stored ones cannot be shown. Without this they stay." checked={form.renew} onChange={(on) => set({ renew: on, auth: on ? form.auth : before!.auth, secrets: {} })} />}
      {repository && moved.length === 0 && before!.auth === 'none' && !form.renew && <Checkbox label="Log in with credentials" checked={false} onChange={() => set({ renew: true })} />}
      {renew && <Credentials form={form} set={set} />}
      <details className={styles.more}>
        <summary>More: proxy, limits, signatures</summary>
        <div className={styles.stack}>
          <div className={styles.two}>
            <TextField label="Proxy" value={form.proxy} onChange={(proxy) => set({ proxy })} placeholder="http://proxy.example.com:3128" hint="Without user and password; empty is the hub's environment." />
            <TextField label="Limit in bytes" value={form.maxBytes} onChange={(maxBytes) => set({ maxBytes })} inputMode="numeric" hint="On the hub's disk; empty is the hub's own limit." />
            {form.type === 'git' && <TextField label="API URL of the GitHub App" value={form.apiUrl} onChange={(apiUrl) => set({ apiUrl })} hint="Empty is derived from the URL." />}
            {(form.type === 'bucket' || form.type === 'oci') && (
              <>
                <TextField label="Region" value={form.region} onChange={(region) => set({ region })} />
                <TextField label="Endpoint" value={form.endpoint} onChange={(endpoint) => set({ endpoint })} />
              </>
            )}
            {modes.length > 0 && <Select label="Verify" value={form.verify} options={[{ value: '', label: 'Nothing' }, ...modes]} onChange={(verify) => set({ verify })} hint="Services move to new content only when this holds." />}
          </div>
          {form.verify && <TextArea label="Trusted keys" value={form.keys} onChange={(keys) => set({ keys })} rows={4} hint="Public keys: PEM or armoured blocks, or one on each line." />}
          {form.type === 'oci' && <Checkbox label="Use http for the registry" hint="Credentials and content can be read on the way." checked={form.plainHttp} onChange={(plainHttp) => set({ plainHttp })} />}
          {form.type === 'helm' && <Checkbox label="Send credentials to other hosts that the index names" checked={form.passCredentials} onChange={(passCredentials) => set({ passCredentials })} />}
          {session().admin && ['aws', 'gcp', 'azure'].includes(form.auth) && <Checkbox label="Use the hub's own identity in the cloud" hint="The repository reads whatever the hub's role may read. Only an administrator may set it, or change a repository that has it." checked={form.hubIdentity} onChange={(hubIdentity) => set({ hubIdentity })} />}
        </div>
      </details>
    </ActionDialog>
  )
}

const plain = (_: string, v: unknown) => (typeof v === 'bigint' ? String(v) : v)
