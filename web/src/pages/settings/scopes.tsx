import styles from './Settings.module.css'
import { Checkbox, Select } from '#/ds/Form'

const scopes = [
  { id: 'read', does: 'read what its owner may read' },
  { id: 'write', does: 'write, create and git' },
  { id: 'admin', does: "what administrators do; with another owner, what the owner's bindings give" },
]

// Scopes are what a token may do at most; its owner's rights limit it further.
export function Scopes({ value, onChange }: { value: string[]; onChange: (scopes: string[]) => void }) {
  return (
    <fieldset className={styles.checks}>
      <legend>Scopes</legend>
      {scopes.map((s) => (
        <Checkbox key={s.id} label={s.id} hint={s.does} checked={value.includes(s.id)} onChange={(on) => onChange(on ? [...value, s.id] : value.filter((v) => v !== s.id))} />
      ))}
    </fieldset>
  )
}

const day = 86_400_000_000n
const lifetimes = [
  { value: String(day), label: '1 day' },
  { value: String(7n * day), label: '7 days' },
  { value: String(30n * day), label: '30 days' },
  { value: String(90n * day), label: '90 days' },
  { value: String(365n * day), label: '1 year' },
]

export const days90 = String(90n * day)
export const day1 = String(day)

export function Lifetime({ value, onChange }: { value: string; onChange: (micros: string) => void }) {
  return <Select label="Expires after" value={value} options={lifetimes} onChange={onChange} hint="It cannot be extended; make a new one in time." />
}
