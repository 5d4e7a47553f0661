import { create } from '@bufbuild/protobuf'
import { useState } from 'react'
import { emptyForm, formOf, problemIn, settingsOf } from './form'
import styles from '../Settings.module.css'
import { unary, useCall } from '#/api/call'
import { ApplicationSettingsSchema } from '#/api/gen/hub/v1/application_pb'
import { type Application, Applications } from '#/api/gen/hub/v1/application_calls_pb'
import { Projects } from '#/api/gen/hub/v1/hub_pb'
import { byConsole, declares } from '#/api/manage'
import { ActionDialog } from '#/ds/ActionDialog'
import { Checkbox, Select, TextArea, TextField } from '#/ds/Form'
import { ManagedBy } from '#/ds/ManagedBy'
import { toast } from '#/ds/toast'

export function ApplicationDialog({ application, onClose, onDone }: { application?: Application; onClose: () => void; onDone: () => Promise<void> }) {
  const [form, setForm] = useState(application?.settings ? formOf(application.name, application.settings) : emptyForm)
  const projects = useCall(Projects.method.list, {}, { enabled: !application })
  const set = (change: Partial<typeof form>) => setForm((f) => ({ ...f, ...change }))
  const name = form.name.trim()
  const run = async (takeOver: boolean) => {
    // What the form does not show stays; the hub keeps the secret when none is sent.
    const { $typeName: _, $unknown: __, ...kept } = application?.settings ?? create(ApplicationSettingsSchema)
    await unary(Applications.method.apply, { name, settings: { ...kept, ...settingsOf(form) }, management: byConsole(takeOver) })
    await onDone()
    toast(application ? `${name} changed` : `${name} was created: its client is below Details`)
  }
  return (
    <ActionDialog title={application ? `Edit the application ${application.name}` : 'Add an application'} submit={application ? 'Save' : 'Add'} wide takeOver run={run} check={() => problemIn(form)} onClose={onClose}>
      {application && declares(application.managedBy) && <ManagedBy manager={application.managedBy} prefix />}
      {!application && (
        <div className={styles.two}>
          <TextField label="Name" value={form.name} onChange={(v) => set({ name: v })} placeholder="grafana" autoFocus />
          <Select label="Project" value={form.project} options={(projects.data?.projects ?? [{ name: 'default' }]).map((p) => ({ value: p.name, label: p.name }))} onChange={(project) => set({ project })} />
        </div>
      )}
      <TextField label="Title" value={form.title} onChange={(title) => set({ title })} placeholder="Grafana" hint="People see it when they log in." />
      <TextArea label="Redirect URIs" value={form.redirectUris} onChange={(redirectUris) => set({ redirectUris })} rows={2} spellCheck={false} style={{ font: 'var(--code)' }} placeholder="https://grafana.shop.example.com/login/generic_oauth" hint="One a line, compared as a whole: https below a domain of the project, or http on a person's own machine." />
      <div className={styles.two}>
        <TextArea label="Groups that may log in" value={form.groups} onChange={(groups) => set({ groups })} rows={3} spellCheck={false} hint="One a line." />
        <TextArea label="Users who may log in" value={form.users} onChange={(users) => set({ users })} rows={3} spellCheck={false} hint="E-mail addresses. With neither groups nor users, nobody may." />
      </div>
      <div className={styles.two}>
        <TextField label="Cluster" value={form.cluster} onChange={(cluster) => set({ cluster })} placeholder="edge-1" hint="The Secret with the client's credentials is written there." />
        <TextField label="Namespace" value={form.namespace} onChange={(namespace) => set({ namespace })} placeholder="monitoring" disabled={!form.cluster} />
      </div>
      <TextField label="Back-channel logout" value={form.backChannelLogoutUri} onChange={(backChannelLogoutUri) => set({ backChannelLogoutUri })} placeholder="https://grafana.shop.example.com/logout" hint="The hub reports there that a session ended. Empty for applications that cannot." />
      <Checkbox label="Public client" hint="On people's own machines or in the browser: it keeps no secret, and proves itself by PKCE." checked={form.public} disabled={!!application} onChange={(v) => set({ public: v })} />
      <Checkbox label="Second factor" hint="Only those log in who used one-time codes or a passkey." checked={form.secondFactor} onChange={(secondFactor) => set({ secondFactor })} />
    </ActionDialog>
  )
}
