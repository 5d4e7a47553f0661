import { useState } from 'react'
import { type Sink, emptyRouter, routerForm, routerProblem, routerSettings } from './form'
import styles from '../Settings.module.css'
import { unary, useCall } from '#/api/call'
import { Projects } from '#/api/gen/hub/v1/hub_pb'
import { type NotificationRouter, NotificationRouters } from '#/api/gen/hub/v1/notifications_pb'
import { byConsole, declares } from '#/api/manage'
import { ActionDialog } from '#/ds/ActionDialog'
import { Checkbox, Select, TextArea, TextField } from '#/ds/Form'
import { ManagedBy } from '#/ds/ManagedBy'
import { toast } from '#/ds/toast'

interface Props {
  router?: NotificationRouter
  sinks: Sink[]
  onClose: () => void
  onDone: () => Promise<void>
}

export function RouterDialog({ router, sinks, onClose, onDone }: Props) {
  const [form, setForm] = useState(router ? routerForm(router) : { ...emptyRouter, sinks: sinks.length === 1 ? [sinks[0]!.name] : [] })
  const events = useCall(NotificationRouters.method.listEvents, {})
  const projects = useCall(Projects.method.list, {}, { enabled: !router })
  const set = (change: Partial<typeof form>) => setForm((f) => ({ ...f, ...change }))
  const flip = (list: string[], value: string, on: boolean) => (on ? [...list, value] : list.filter((v) => v !== value))
  const fitting = sinks.filter((s) => !s.settings?.project || s.settings.project === form.project)
  return (
    <ActionDialog
      title={router ? `Edit the router ${router.name}` : 'Add a router'}
      submit={router ? 'Save' : 'Add the router'}
      takeOver
      wide
      check={() => routerProblem(form, router)}
      onClose={onClose}
      run={async (takeOver) => {
        await unary(NotificationRouters.method.apply, { name: form.name.trim(), settings: routerSettings(form), management: byConsole(takeOver) })
        await onDone()
        toast(`${form.name.trim()} routes from now on`)
      }}
    >
      {router && declares(router.managedBy) && <ManagedBy manager={router.managedBy} prefix />}
      {!router && (
        <div className={styles.two}>
          <TextField label="Name" value={form.name} onChange={(name) => set({ name })} placeholder="failures" autoFocus />
          <Select label="Sees events of" value={form.project} options={[{ value: '', label: 'the whole hub' }, ...(projects.data?.projects ?? []).map((p) => ({ value: p.name, label: `project ${p.name}` }))]} onChange={(project) => set({ project, sinks: [] })} />
        </div>
      )}
      <fieldset className={styles.events}>
        <legend>Events</legend>
        <Checkbox label="* all" checked={form.events.includes('*')} onChange={(on) => set({ events: flip(form.events, '*', on) })} />
        {/* An event that nothing makes yet is offered to who chose it elsewhere. */}
        {events.data?.events.filter((e) => e.kinds.length > 0 || form.events.includes(e.name)).map((e) => (
          <Checkbox key={e.name} label={e.name} hint={e.description} checked={form.events.includes(e.name)} disabled={form.events.includes('*')} onChange={(on) => set({ events: flip(form.events, e.name, on) })} />
        ))}
      </fieldset>
      <fieldset className={styles.events}>
        <legend>To the sinks</legend>
        {fitting.length === 0 && <p className={styles.muted}>There is none for this project or the whole hub: add a sink first.</p>}
        {fitting.map((s) => (
          <Checkbox key={s.id} label={s.name} hint={s.host || 'Axle itself'} checked={form.sinks.includes(s.name)} onChange={(on) => set({ sinks: flip(form.sinks, s.name, on) })} />
        ))}
      </fieldset>
      <TextArea label="Only where one of these matches (optional)" value={form.filters} onChange={(filters) => set({ filters })} placeholder={'service=web,cluster=edge-1\nregex=/api$'} hint="One a line; all parts of a line must match. A regex is about the object's name, such as edge-1/web." />
    </ActionDialog>
  )
}
