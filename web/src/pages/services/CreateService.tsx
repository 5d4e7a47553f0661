import { useNavigate } from '@tanstack/react-router'
import { useId, useState } from 'react'
import { commandOf, emptyService, problemIn, requestOf, type ServiceForm } from './create'
import styles from './services.module.css'
import { unary, useCall } from '#/api/call'
import { Fleet } from '#/api/gen/hub/v1/fleet_pb'
import { Repositories, Services } from '#/api/gen/hub/v1/hub_pb'
import { byConsole } from '#/api/manage'
import { ActionDialog } from '#/ds/ActionDialog'
import { Command } from '#/ds/Copy'
import { Select, TextField } from '#/ds/Form'
import { toast } from '#/ds/toast'

// So many names are offered while somebody types.
const offered = 20

// CreateService delivers a folder of a Git repository to a cluster. Charts, values
// and everything else that a service can have are for the command line and files.
export function CreateService({ cluster = '', repository = '', onClose }: { cluster?: string; repository?: string; onClose: () => void }) {
  const [form, setForm] = useState<ServiceForm>({ ...emptyService, cluster, repository })
  const set = (change: Partial<ServiceForm>) => setForm((f) => ({ ...f, ...change }))
  const navigate = useNavigate()
  const list = useId()
  const clusters = useCall(Fleet.method.queryClusters, { filter: { text: form.cluster }, limit: offered }, { keep: true, staleTime: 10_000 })
  const repositories = useCall(Repositories.method.list, {})
  const git = (repositories.data?.repositories ?? []).filter((r) => r.type === 'git').map((r) => r.name)
  const names = repository && !git.includes(repository) ? [repository, ...git] : git
  const run = async () => {
    await unary(Services.method.create, { ...requestOf(form), management: byConsole() })
    await navigate({ to: `/services/${encodeURIComponent(form.cluster.trim())}/${encodeURIComponent(form.name)}` })
    toast(`${form.name} is on its way to ${form.cluster.trim()}`)
  }
  return (
    <ActionDialog title="Deploy a service" submit="Deploy" wide run={run} check={() => problemIn(form)} onClose={onClose}>
      <div className={styles.two}>
        <TextField label="Cluster" value={form.cluster} onChange={(cluster) => set({ cluster })} list={list} autoFocus={!cluster} autoComplete="off" spellCheck={false} placeholder="eu-prod-1" />
        <TextField label="Name" value={form.name} onChange={(name) => set({ name })} autoFocus={cluster !== ''} autoComplete="off" spellCheck={false} placeholder="hello" hint="Unique on the cluster; it cannot be changed." />
        <Select label="Repository" value={form.repository} onChange={(repository) => set({ repository })} options={[...(form.repository ? [] : [{ value: '', label: 'Choose one' }]), ...names.map((name) => ({ value: name, label: name }))]} />
        <TextField label="Branch, tag or commit" value={form.ref} onChange={(ref) => set({ ref })} autoComplete="off" spellCheck={false} />
        <TextField label="Folder" value={form.folder} onChange={(folder) => set({ folder })} autoComplete="off" spellCheck={false} placeholder="apps/hello" hint="With manifests, a kustomization or a chart. Empty is the whole repository." />
        <TextField label="Namespace" value={form.namespace} onChange={(namespace) => set({ namespace })} autoComplete="off" spellCheck={false} placeholder={form.name || 'hello'} hint="Empty is the service's name." />
      </div>
      <datalist id={list}>
        {(clusters.data?.rows ?? []).flatMap((r) => r.cluster ?? []).map((c) => (
          <option key={c.id} value={c.handle}>
            {c.name}
          </option>
        ))}
      </datalist>
      <Command label="The same as a command" command={commandOf(form)} />
    </ActionDialog>
  )
}
