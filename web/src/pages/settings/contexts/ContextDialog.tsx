import { Plus, Trash2, Undo2 } from 'lucide-react'
import { useState } from 'react'
import { type SecretRow, changeOf, emptyContext, formOf, problemIn } from './form'
import styles from '../Settings.module.css'
import { unary, useCall } from '#/api/call'
import { type Context, Contexts, Projects } from '#/api/gen/hub/v1/hub_pb'
import { byConsole, declares } from '#/api/manage'
import { session } from '#/api/session'
import { ActionDialog } from '#/ds/ActionDialog'
import { Button, IconButton } from '#/ds/Button'
import { Select, TextArea, TextField } from '#/ds/Form'
import { ManagedBy } from '#/ds/ManagedBy'
import { many } from '#/ds/Text'
import { toast } from '#/ds/toast'

export function ContextDialog({ context, onClose, onDone }: { context?: Context; onClose: () => void; onDone: () => Promise<void> }) {
  const [before] = useState(context ? formOf(context) : emptyContext)
  const [form, setForm] = useState(before)
  const projects = useCall(Projects.method.list, {}, { enabled: !context })
  const set = (change: Partial<typeof form>) => setForm((f) => ({ ...f, ...change }))
  const secret = (i: number, change: Partial<SecretRow>) => set({ secrets: form.secrets.map((s, k) => (k === i ? { ...s, ...change } : s)) })
  const run = async (takeOver: boolean) => {
    const management = byConsole(takeOver)
    const { values, secrets, unset } = changeOf(before, form)
    if (context) await unary(Contexts.method.update, { context: { name: context.name, values, secrets }, merge: true, unset, management })
    else await unary(Contexts.method.create, { context: { name: form.name.trim(), project: form.project, values: form.values, secrets }, management })
    await onDone()
    toast(context ? `${context.name} changed: services that use it get a new revision` : `${form.name.trim()} was created`)
  }
  return (
    <ActionDialog title={context ? `Edit the context ${context.name}` : 'Create a context'} submit={context ? 'Save' : 'Create'} wide takeOver run={run} check={() => problemIn(form, !context)} onClose={onClose}>
      {context && declares(context.managedBy) && <ManagedBy manager={context.managedBy} prefix />}
      {!context && (
        <div className={styles.two}>
          <TextField label="Name" value={form.name} onChange={(name) => set({ name })} placeholder="prod" autoFocus />
          <Select
            label="For"
            value={form.project}
            options={[...(session().admin || !projects.data ? [{ value: '', label: 'all projects' }] : [{ value: '', label: 'all projects (needs create on the whole hub)' }]), ...(projects.data?.projects ?? []).map((p) => ({ value: p.name, label: `project ${p.name}` }))]}
            onChange={(project) => set({ project })}
          />
        </div>
      )}
      <TextArea label="Values" value={form.values} onChange={(values) => set({ values })} rows={8} spellCheck={false} style={{ font: 'var(--code)' }} hint="A JSON object. Everybody who may read the context sees it: put secrets below." />
      <h3>Secrets</h3>
      {form.secrets.map((s, i) => (
        // oxlint-disable-next-line react/no-array-index-key -- the key is what is typed
        <div key={i} className={styles.end} role="group" aria-label={`Secret ${s.key || i + 1}`}>
          {s.stored ? (
            <>
              <TextField label="Key" value={s.key} onChange={() => {}} disabled />
              {s.state === 'replace' ? (
                <TextField label="New value" type="password" autoComplete="new-password" value={s.value} onChange={(value) => secret(i, { value })} />
              ) : (
                <TextField label="Value" value={s.state === 'remove' ? 'is removed' : 'stored, not shown'} onChange={() => {}} disabled />
              )}
              {s.state === 'keep' ? (
                <>
                  <Button onClick={() => secret(i, { state: 'replace' })}>Replace</Button>
                  <IconButton icon={Trash2} label={`Remove ${s.key}`} onClick={() => secret(i, { state: 'remove' })} />
                </>
              ) : (
                <IconButton icon={Undo2} label={`Keep ${s.key}`} onClick={() => secret(i, { state: 'keep', value: '' })} />
              )}
            </>
          ) : (
            <>
              <TextField label="Key" value={s.key} onChange={(key) => secret(i, { key })} autoComplete="off" />
              <TextField label="Value" type="password" autoComplete="new-password" value={s.value} onChange={(value) => secret(i, { value })} />
              <IconButton icon={Trash2} label="Remove" onClick={() => set({ secrets: form.secrets.filter((_, k) => k !== i) })} />
            </>
          )}
        </div>
      ))}
      <div>
        <Button icon={Plus} onClick={() => set({ secrets: [...form.secrets, { key: '', value: '', stored: false, state: 'replace' }] })}>
          Add a secret
        </Button>
      </div>
      {context && context.services > 0 && <p>Each service that uses it gets a new revision at the next poll of its agent: {many(context.services, 'service')}. Undo: save the former values; a secret has to be typed again.</p>}
    </ActionDialog>
  )
}
