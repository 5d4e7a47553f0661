import { Plus, Trash2 } from 'lucide-react'
import styles from './Settings.module.css'
import { type Window, checkWindow, newWindow, windowText } from './windows'
import { Button, IconButton } from '#/ds/Button'
import { Checkbox, Select, TextField } from '#/ds/Form'

const kinds = [
  { value: 'allow', label: 'Allow' },
  { value: 'deny', label: 'Deny' },
]

// WindowsEditor edits sync windows; each is said in words below its fields.
export function WindowsEditor({ windows, onChange }: { windows: Window[]; onChange: (windows: Window[]) => void }) {
  const set = (i: number, change: Partial<Window>) => onChange(windows.map((w, k) => (k === i ? { ...w, ...change } : w)))
  return (
    <div className={styles.stack}>
      {windows.map((w, i) => (
        // oxlint-disable-next-line react/no-array-index-key -- windows have no other name
        <div key={i} className={`${styles.stack} ${styles.window}`} role="group" aria-label={`Window ${i + 1}`}>
          <div className={styles.end}>
            <Select label="Kind" value={w.kind} options={kinds} onChange={(kind) => set(i, { kind })} />
            <TextField label="Begins (cron)" value={w.schedule} onChange={(schedule) => set(i, { schedule })} placeholder="0 9 * * mon-fri" />
            <TextField label="Lasts" value={w.duration} onChange={(duration) => set(i, { duration })} placeholder="8h" />
            <TextField label="Time zone" value={w.timeZone} onChange={(timeZone) => set(i, { timeZone })} placeholder="UTC" />
            <IconButton icon={Trash2} label={`Remove window ${i + 1}`} onClick={() => onChange(windows.filter((_, k) => k !== i))} />
          </div>
          <Checkbox label="A sync by hand passes" checked={w.manualSync} onChange={(manualSync) => set(i, { manualSync })} />
          <p className={styles.muted}>{checkWindow(w) ?? `${windowText(w)}.`}</p>
        </div>
      ))}
      <div>
        <Button icon={Plus} onClick={() => onChange([...windows, { ...newWindow }])}>
          Add a window
        </Button>
      </div>
    </div>
  )
}

// WindowsText is windows as sentences, to read.
export function WindowsText({ windows }: { windows: Window[] }) {
  if (windows.length === 0) return <>none: new revisions are applied at any time</>
  return (
    <ul>
      {windows.map((w, i) => (
        // oxlint-disable-next-line react/no-array-index-key -- windows have no other name
        <li key={i}>{windowText(w)}</li>
      ))}
    </ul>
  )
}

export function plainWindows(windows: Window[]): Window[] {
  return windows.map(({ kind, schedule, duration, timeZone, manualSync }) => ({ kind, schedule, duration, timeZone, manualSync }))
}
