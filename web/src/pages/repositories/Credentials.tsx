import { type RepositoryForm, authKinds, authOf } from './form'
import styles from './Repositories.module.css'
import { Select, TextArea, TextField } from '#/ds/Form'

// Credentials are fields whose values go to the hub and are never read back.
export function Credentials({ form, set }: { form: RepositoryForm; set: (change: Partial<RepositoryForm>) => void }) {
  const kind = authOf(form)
  const secret = (id: string, value: string) => set({ secrets: { ...form.secrets, [id]: value } })
  return (
    <div className={styles.stack}>
      <Select label="Log in with" value={form.auth} options={authKinds.filter((k) => k.types.includes(form.type)).map((k) => ({ value: k.value, label: k.label }))} onChange={(auth) => set({ auth, secrets: {} })} />
      {!form.hubIdentity &&
        kind.fields.map((f) =>
          f.long ? (
            <TextArea key={f.id} label={f.label} value={form.secrets[f.id] ?? ''} onChange={(v) => secret(f.id, v)} rows={4} autoComplete="off" spellCheck={false} hint={f.hint} />
          ) : (
            <TextField key={f.id} label={f.optional ? `${f.label} (optional)` : f.label} type={f.secret ? 'password' : 'text'} value={form.secrets[f.id] ?? ''} onChange={(v) => secret(f.id, v)} autoComplete={f.secret ? 'new-password' : 'off'} hint={f.hint} />
          ),
        )}
      {form.type !== 'bucket' && (
        <details className={styles.more}>
          <summary>Certificate authority of its own</summary>
          <TextArea label="Certificate authority, PEM" value={form.caPem} onChange={(caPem) => set({ caPem })} rows={4} hint="Empty is the system's." />
        </details>
      )}
    </div>
  )
}
