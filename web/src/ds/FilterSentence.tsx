import { ListFilter, X } from 'lucide-react'
import { type FormEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { Button } from './Button'
import styles from './FilterSentence.module.css'
import { Select, TextField } from './Form'
import { type FilterField, type FilterValues, valueLabel } from './filters'
import { useKeys } from '#/app/useKeys'

interface Props {
  // What is listed: "records".
  noun: string
  fields: FilterField[]
  values: FilterValues
  onChange: (values: FilterValues) => void
  // At the end of the sentence.
  children?: ReactNode
}

// FilterSentence reads as a sentence, "records where actor is ann and result is
// forbidden", and changes it a part at a time.
export function FilterSentence({ noun, fields, values, onChange, children }: Props) {
  const [field, setField] = useState<FilterField>()
  const [value, setValue] = useState('')
  const [wrong, setWrong] = useState<string>()
  const id = useId()
  const form = useRef<HTMLFormElement>(null)
  const opener = useRef<HTMLButtonElement>(null)
  const set = fields.filter((f) => values[f.id])
  const open = (f: FilterField) => {
    setField(f)
    setValue(values[f.id] ?? f.options?.[0]?.value ?? '')
    setWrong(undefined)
  }
  const close = () => {
    setField(undefined)
    opener.current?.focus()
  }
  useEffect(() => {
    if (field) form.current?.querySelector<HTMLElement>('[data-value] input, [data-value] select')?.focus()
  }, [field])
  useKeys('Filter', [{ keys: '/', does: 'filter', run: () => open(fields.find((f) => !values[f.id]) ?? fields[0]!) }])
  const apply = (event: FormEvent) => {
    event.preventDefault()
    if (!field) return
    const text = value.trim()
    const bad = text ? field.check?.(text) : undefined
    setWrong(bad)
    if (bad) return
    const next = { ...values, [field.id]: text }
    if (!text) delete next[field.id]
    onChange(next)
    close()
  }
  const without = (gone: string) => onChange(Object.fromEntries(Object.entries(values).filter(([k]) => k !== gone)))
  return (
    <div className={styles.bar} role="search" aria-label={`Filter the ${noun}`}>
      <div className={styles.sentence}>
        <span>{set.length ? `${noun} where` : `All ${noun}`}</span>
        {set.map((f, i) => (
          <span key={f.id} className={styles.part}>
            {i > 0 && <span>and</span>}
            <span className={styles.chip}>
              <button type="button" onClick={() => open(f)} aria-label={`Change the filter: ${f.words} ${valueLabel(f, values[f.id]!)}`}>
                {f.words} <b>{valueLabel(f, values[f.id]!)}</b>
              </button>
              <button type="button" className={styles.gone} onClick={() => without(f.id)} aria-label={`Remove the filter ${f.label}`}>
                <X size={12} aria-hidden />
              </button>
            </span>
          </span>
        ))}
        <Button ref={opener} variant="quiet" icon={ListFilter} keys="/" aria-expanded={field !== undefined} aria-controls={id} onClick={() => (field ? close() : open(fields.find((f) => !values[f.id]) ?? fields[0]!))}>
          Filter
        </Button>
        {set.length > 0 && (
          <Button variant="quiet" onClick={() => onChange({})}>
            Clear
          </Button>
        )}
        {children}
      </div>
      {field && (
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- Esc closes what / opened
        <form
          id={id}
          ref={form}
          className={styles.form}
          onSubmit={apply}
          onKeyDown={(e) => {
            if (e.key !== 'Escape') return
            e.stopPropagation()
            close()
          }}
        >
          <Select label="Filter by" value={field.id} options={fields.map((f) => ({ value: f.id, label: f.label }))} onChange={(next) => open(fields.find((f) => f.id === next)!)} />
          <div data-value className={styles.value}>
            {field.options ? (
              <Select label={field.label} value={value} options={field.options} onChange={setValue} hint={field.hint} />
            ) : (
              <TextField label={field.label} value={value} placeholder={field.placeholder} onChange={setValue} hint={field.hint} problem={wrong} />
            )}
          </div>
          <div className={styles.buttons}>
            <Button type="submit" variant="primary">
              Apply
            </Button>
            <Button onClick={close}>Cancel</Button>
          </div>
        </form>
      )}
    </div>
  )
}
