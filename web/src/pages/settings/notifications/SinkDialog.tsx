import { KeyRound } from 'lucide-react'
import { useState } from 'react'
import { emptySink, sinkForm, sinkProblem, sinkSettings, sinkTypes, typeText } from './form'
import styles from '../Settings.module.css'
import { unary, useCall } from '#/api/call'
import { Projects } from '#/api/gen/hub/v1/hub_pb'
import { type NotificationSink, NotificationSinks } from '#/api/gen/hub/v1/notifications_pb'
import { byConsole, declares } from '#/api/manage'
import { words } from '#/api/rules'
import { ActionDialog } from '#/ds/ActionDialog'
import { Checkbox, Select, TextArea, TextField } from '#/ds/Form'
import { ManagedBy } from '#/ds/ManagedBy'
import { Banner } from '#/ds/State'
import { toast } from '#/ds/toast'

const priorities = words.priorities.map((value) => ({ value, label: value.toLowerCase() }))

export function SinkDialog({ sink, onClose, onDone }: { sink?: NotificationSink; onClose: () => void; onDone: () => Promise<void> }) {
  const [form, setForm] = useState(sink ? sinkForm(sink) : emptySink)
  const projects = useCall(Projects.method.list, {}, { enabled: !sink })
  const set = (change: Partial<typeof form>) => setForm((f) => ({ ...f, ...change }))
  const signs = form.type === 'WEBHOOK'
  return (
    <ActionDialog
      title={sink ? `Edit the sink ${sink.name}` : 'Add a sink'}
      submit={sink ? 'Save' : 'Add the sink'}
      takeOver
      wide
      check={() => sinkProblem(form, sink)}
      onClose={onClose}
      run={async (takeOver) => {
        const { sink: made } = await unary(NotificationSinks.method.apply, { name: form.name.trim(), settings: sinkSettings(form), url: form.url, secret: form.secret, unsigned: form.unsigned, management: byConsole(takeOver) })
        await onDone()
        toast(`${made?.name ?? form.name}: test it, and route events to it`)
      }}
    >
      {sink && declares(sink.managedBy) && <ManagedBy manager={sink.managedBy} prefix />}
      {sink ? (
        <p className={styles.muted}>
          {typeText(form.type)}, {form.project ? `project ${form.project}` : 'the whole hub'}. These cannot change.
        </p>
      ) : (
        <div className={styles.two}>
          <TextField label="Name" value={form.name} onChange={(name) => set({ name })} placeholder="ops" autoFocus />
          <Select label="Sends to" value={form.type} options={sinkTypes} onChange={(type) => set({ type, url: '', secret: '' })} />
          <Select label="Belongs to" value={form.project} options={[{ value: '', label: 'the whole hub' }, ...(projects.data?.projects ?? []).map((p) => ({ value: p.name, label: `project ${p.name}` }))]} onChange={(project) => set({ project })} />
        </div>
      )}
      {form.type === 'PLURAL' ? (
        <>
          <div className={styles.two}>
            <TextArea label="Users" value={form.users} onChange={(users) => set({ users })} placeholder="ann@example.com" hint="E-mails, one a line." />
            <TextArea label="Groups" value={form.groups} onChange={(groups) => set({ groups })} placeholder="web team" hint="One a line." />
          </div>
          <Select label="Priority" value={form.priority} options={priorities} onChange={(priority) => set({ priority })} />
        </>
      ) : (
        <>
          <TextField label={sink ? 'New URL' : 'URL'} type="password" autoComplete="off" value={form.url} onChange={(url) => set({ url })} hint={sink ? `Stored for ${sink.host}; the rest is a secret that is never shown. Empty keeps it.` : 'It is a credential: it is stored sealed and never shown, only its host.'} />
          {signs && sink?.signed && form.url && (
            <Banner tone="warn" icon={KeyRound}>
              The URL changes, so give the signing key again. The stored key is never used for another address.
            </Banner>
          )}
          {signs && <TextField label="Signing key" type="password" autoComplete="new-password" value={form.secret} onChange={(secret) => set({ secret })} disabled={form.unsigned} hint={sink?.signed ? 'At least 16 bytes. Empty keeps the present one while the URL stays.' : 'At least 16 bytes. The receiver checks with it that a delivery is from this hub.'} />}
          {signs && sink?.signed && <Checkbox label="Do not sign any more" checked={form.unsigned} onChange={(unsigned) => set({ unsigned, secret: '' })} />}
        </>
      )}
    </ActionDialog>
  )
}
