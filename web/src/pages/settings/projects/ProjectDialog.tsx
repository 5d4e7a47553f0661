import { useState } from 'react'
import { limitsForm, limitsOf, problemIn } from './form'
import styles from '../Settings.module.css'
import { WindowsEditor } from '../WindowsEditor'
import { unary } from '#/api/call'
import { type Project, Projects } from '#/api/gen/hub/v1/hub_pb'
import { byConsole, declares } from '#/api/manage'
import { nameProblem } from '#/api/names'
import { rules } from '#/api/rules'
import { ActionDialog } from '#/ds/ActionDialog'
import { Checkbox, TextArea, TextField } from '#/ds/Form'
import { ManagedBy } from '#/ds/ManagedBy'
import { many } from '#/ds/Text'
import { toast } from '#/ds/toast'

export function ProjectDialog({ project, onClose, onDone }: { project?: Project; onClose: () => void; onDone: () => Promise<void> }) {
  const [name, setName] = useState(project?.name ?? '')
  const [description, setDescription] = useState(project?.description ?? '')
  const [before] = useState(() => limitsForm(project?.limits))
  const [limits, setLimits] = useState(before)
  const set = (change: Partial<typeof limits>) => setLimits((l) => ({ ...l, ...change }))
  const narrower = project && JSON.stringify(limits) !== JSON.stringify(before)
  const run = async (takeOver: boolean) => {
    const management = byConsole(takeOver)
    if (project) {
      // The limits have a manager of their own: only what changed is sent.
      await unary(Projects.method.update, { name, management, ...(description === project.description ? {} : { description }), ...(narrower ? { limits: limitsOf(limits) } : {}) })
    } else await unary(Projects.method.create, { name: name.trim(), description, limits: limitsOf(limits), management })
    await onDone()
    toast(project ? `${name} changed` : `${name.trim()} was created: give roles on it next`, project ? undefined : { href: '/settings/roles', label: 'Roles' })
  }
  return (
    <ActionDialog
      title={project ? `Edit the project ${project.name}` : 'Create a project'}
      submit={project ? 'Save' : 'Create'}
      wide
      takeOver
      run={run}
      check={() => (project ? undefined : nameProblem(rules.label, name.trim())) ?? problemIn(limits)}
      onClose={onClose}
    >
      {project && declares(project.managedBy) && <ManagedBy manager={project.managedBy} prefix />}
      {project && declares(project.limitsManagedBy) && (
        <p className={styles.muted}>
          The limits are managed by <ManagedBy manager={project.limitsManagedBy} />
        </p>
      )}
      <div className={styles.two}>
        {!project && <TextField label="Name" value={name} onChange={setName} autoFocus />}
        <TextField label="Description" value={description} onChange={setDescription} />
      </div>
      <h3>Limits</h3>
      <div className={styles.two}>
        <TextArea label="Namespaces" value={limits.namespaces} onChange={(namespaces) => set({ namespaces })} placeholder="shop-*" hint="Where services may be and write, with * and ?; empty allows all." />
        <TextArea label="Kinds" value={limits.kinds} onChange={(kinds) => set({ kinds })} placeholder={'Deployment.apps\nService'} hint="Kind or Kind.group, with * and ?; empty allows all." />
      </div>
      <TextField label="Service account" value={limits.serviceAccount} onChange={(serviceAccount) => set({ serviceAccount })} hint="For services that name none: NAME in the service's namespace, or NAMESPACE/NAME." />
      <TextArea label="Accounts" value={limits.accounts} onChange={(accounts) => set({ accounts })} placeholder="shop/deployer" hint="Service accounts that services may act as, NAMESPACE/NAME with * and ?, beside those in the namespaces above." />
      {name !== 'default' && <Checkbox label="Allow cluster-scoped objects" hint="Such as ClusterRole and CustomResourceDefinition, which reach beyond the project." checked={limits.clusterScoped} onChange={(clusterScoped) => set({ clusterScoped })} />}
      <div className={styles.two}>
        <TextField label="Clusters" value={limits.clusters} onChange={(clusters) => set({ clusters })} inputMode="numeric" hint="At most so many; empty is no limit." />
        <TextField label="Machines" value={limits.machines} onChange={(machines) => set({ machines })} inputMode="numeric" hint="Of clusters from templates, together." />
        <TextField label="Services" value={limits.services} onChange={(services) => set({ services })} inputMode="numeric" hint="At most so many, without those that global services of the whole hub place." />
        <TextField label="Open previews" value={limits.previews} onChange={(previews) => set({ previews })} inputMode="numeric" hint="At most so many at once." />
        <TextField label="Applications" value={limits.applications} onChange={(applications) => set({ applications })} inputMode="numeric" hint="At most so many that people are signed in to." />
      </div>
      <TextArea label="Domains" value={limits.domains} onChange={(domains) => set({ domains })} placeholder="shop.example.com" hint="That the project owns: the URIs of its applications lie below them; empty is none." />
      <h3>Sync windows</h3>
      <p className={styles.muted}>In addition to those of the hub and of a service: each level must allow a sync.</p>
      <WindowsEditor windows={limits.windows} onChange={(windows) => set({ windows })} />
      {narrower && <p>{many(project.services, 'service')} of the project are held to these limits from the next apply on. Objects on the clusters stay; what the limits refuse is then Held or Failed, with the reason. Undo: save the former limits again.</p>}
    </ActionDialog>
  )
}
