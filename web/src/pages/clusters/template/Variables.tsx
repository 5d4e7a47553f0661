import { Plus, X } from 'lucide-react'
import { useId } from 'react'
import styles from './Template.module.css'
import { type Problems, problemAt, rowOf } from './draft'
import { type Draft, type Shape, choicesOf, hintOf } from './schema'
import { Button } from '#/ds/Button'
import { Select, TextArea, TextField } from '#/ds/Form'

type Drafts = { [name: string]: Draft }

interface Props {
  shapes: Shape[]
  draft: Drafts
  problems: Problems
  // Where these fields are in the variables: empty, or nodePools.0.
  path?: string
  onChange: (draft: Drafts) => void
}

// Variables are the fields of a template's variables, or of a part of one.
export function Variables({ shapes, draft, problems, path = '', onChange }: Props) {
  return (
    <div className={styles.fields}>
      {shapes.map((shape) => {
        const at = path ? `${path}.${shape.name}` : shape.name
        const wide = ['lines', 'pairs', 'rows', 'group', 'yaml'].includes(shape.kind)
        return (
          <div key={shape.name} className={wide ? styles.wide : undefined}>
            <Variable shape={shape} draft={draft[shape.name] ?? ''} problems={problems} path={at} onChange={(of) => onChange({ ...draft, [shape.name]: of })} />
          </div>
        )
      })}
    </div>
  )
}

interface OneProps {
  shape: Shape
  draft: Draft
  problems: Problems
  path: string
  onChange: (draft: Draft) => void
}

function Variable({ shape, draft, problems, path, onChange }: OneProps) {
  const structured = shape.kind === 'rows' || shape.kind === 'group'
  const text = typeof draft === 'string' ? draft : ''
  const field = {
    label: shape.schema.title ? `${shape.schema.title} (${shape.name})` : shape.name,
    hint: hintOf(shape) || undefined,
    problem: problemAt(problems, path, !structured),
    required: shape.required && shape.schema.default === undefined,
    value: text,
    onChange,
  }
  switch (shape.kind) {
    case 'choice': {
      const none = shape.schema.default === undefined ? [{ value: '', label: field.required ? 'Choose one' : 'no value' }] : []
      return <Select {...field} options={[...none, ...choicesOf(shape).map((v) => ({ value: JSON.stringify(v), label: typeof v === 'string' ? v : JSON.stringify(v) }))]} />
    }
    case 'text':
      return <TextField {...field} autoComplete="off" spellCheck={false} />
    case 'number':
      return <TextField {...field} autoComplete="off" inputMode="decimal" />
    case 'rows':
      return <Rows shape={shape} drafts={Array.isArray(draft) ? draft : []} problems={problems} path={path} hint={field.hint} problem={field.problem} onChange={onChange} />
    case 'group':
      return (
        <fieldset className={styles.group}>
          <legend>{field.label}</legend>
          {field.hint && <p className={styles.hint}>{field.hint}</p>}
          <Variables shapes={shape.fields} draft={draftsOf(draft)} problems={problems} path={path} onChange={onChange} />
        </fieldset>
      )
    default:
      return <TextArea {...field} rows={shape.kind === 'yaml' ? 5 : 2} autoComplete="off" spellCheck={false} />
  }
}

function draftsOf(draft: Draft): Drafts {
  return typeof draft === 'string' || Array.isArray(draft) ? {} : draft
}

interface RowsProps extends Omit<OneProps, 'draft'> {
  drafts: Draft[]
  hint: string | undefined
  problem: string | undefined
}

function Rows({ shape, drafts, problems, path, hint, problem, onChange }: RowsProps) {
  const id = useId()
  const most = shape.schema.maxItems ?? Infinity
  return (
    <fieldset className={styles.group} aria-describedby={problem ? id : undefined}>
      <legend>{shape.name}</legend>
      {hint && <p className={styles.hint}>{hint}</p>}
      {drafts.map((row, i) => (
        // oxlint-disable-next-line react/no-array-index-key -- rows have no other name, and a field keeps no state
        <fieldset key={i} className={styles.row} aria-label={`${shape.name} ${i + 1}`}>
          <div className={styles.rowHead}>
            <span className={styles.hint}>{i + 1}</span>
            <Button variant="quiet" icon={X} aria-label={`Remove ${shape.name} ${i + 1}`} onClick={() => onChange(drafts.filter((_, n) => n !== i))}>
              Remove
            </Button>
          </div>
          {problems.has(`${path}.${i}`) && <p className={styles.problem}>{problems.get(`${path}.${i}`)}</p>}
          <Variables shapes={shape.fields} draft={draftsOf(row)} problems={problems} path={`${path}.${i}`} onChange={(of) => onChange(drafts.map((d, n) => (n === i ? of : d)))} />
        </fieldset>
      ))}
      {problem && (
        <p id={id} className={styles.problem}>
          {problem}
        </p>
      )}
      <div>
        <Button icon={Plus} disabled={drafts.length >= most} onClick={() => onChange([...drafts, rowOf(shape)])}>
          Add to {shape.name}
        </Button>
      </div>
    </fieldset>
  )
}
