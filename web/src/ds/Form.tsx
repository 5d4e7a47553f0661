import { type InputHTMLAttributes, type ReactNode, type Ref, type SelectHTMLAttributes, type TextareaHTMLAttributes, useId } from 'react'
import styles from './Form.module.css'

interface Around {
  label: string
  // Below the field.
  hint?: ReactNode
  // What is wrong with it.
  problem?: string | undefined
  hideLabel?: boolean
}

function Field({ id, label, hint, problem, hideLabel, children }: Around & { id: string; children: ReactNode }) {
  return (
    <div className={styles.field}>
      <label htmlFor={id} className={hideLabel ? 'visually-hidden' : styles.label}>
        {label}
      </label>
      {children}
      {hint && (
        <div id={`${id}-hint`} className={styles.hint}>
          {hint}
        </div>
      )}
      {problem && (
        <p id={`${id}-problem`} className={styles.problem}>
          {problem}
        </p>
      )}
    </div>
  )
}

function describe(id: string, hint: ReactNode, problem: string | undefined) {
  return { 'aria-describedby': [hint && `${id}-hint`, problem && `${id}-problem`].filter(Boolean).join(' ') || undefined, 'aria-invalid': problem ? true : undefined }
}

type InputProps = Around & Omit<InputHTMLAttributes<HTMLInputElement>, 'onChange'> & { onChange: (value: string) => void; ref?: Ref<HTMLInputElement> }

export function TextField({ label, hint, problem, hideLabel, onChange, ...rest }: InputProps) {
  const id = useId()
  return (
    <Field id={id} label={label} hint={hint} problem={problem} hideLabel={hideLabel ?? false}>
      <input {...rest} id={id} className={styles.input} {...describe(id, hint, problem)} onChange={(e) => onChange(e.target.value)} />
    </Field>
  )
}

type AreaProps = Around & Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, 'onChange'> & { onChange: (value: string) => void }

export function TextArea({ label, hint, problem, hideLabel, onChange, ...rest }: AreaProps) {
  const id = useId()
  return (
    <Field id={id} label={label} hint={hint} problem={problem} hideLabel={hideLabel ?? false}>
      <textarea rows={3} {...rest} id={id} className={styles.area} {...describe(id, hint, problem)} onChange={(e) => onChange(e.target.value)} />
    </Field>
  )
}

type SelectProps = Around & Omit<SelectHTMLAttributes<HTMLSelectElement>, 'onChange'> & { options: { value: string; label: string }[]; small?: boolean; onChange: (value: string) => void }

export function Select({ label, hint, problem, hideLabel, options, small, onChange, ...rest }: SelectProps) {
  const id = useId()
  return (
    <Field id={id} label={label} hint={hint} problem={problem} hideLabel={hideLabel ?? false}>
      <select {...rest} id={id} className={`${styles.select} ${small ? styles.small : ''}`} {...describe(id, hint, problem)} onChange={(e) => onChange(e.target.value)}>
        {options.map((o) => (
          <option key={o.value} value={o.value}>
            {o.label}
          </option>
        ))}
      </select>
    </Field>
  )
}

interface CheckProps {
  label: ReactNode
  hint?: ReactNode
  checked: boolean
  disabled?: boolean
  onChange: (checked: boolean) => void
}

export function Checkbox({ label, hint, checked, disabled, onChange }: CheckProps) {
  return (
    <label className={styles.check}>
      <input type="checkbox" checked={checked} disabled={disabled} onChange={(e) => onChange(e.target.checked)} />
      <span>
        {label}
        {hint && <span className={styles.hint}>{hint}</span>}
      </span>
    </label>
  )
}

interface SegmentedProps<T extends string> {
  label: string
  value: T
  options: { value: T; label: string }[]
  onChange: (value: T) => void
}

// Segmented chooses one of a few, all visible.
export function Segmented<T extends string>({ label, value, options, onChange }: SegmentedProps<T>) {
  return (
    <fieldset className={styles.segmented} aria-label={label}>
      {options.map((o) => (
        <button key={o.value} type="button" aria-pressed={o.value === value} onClick={() => onChange(o.value)}>
          {o.label}
        </button>
      ))}
    </fieldset>
  )
}
