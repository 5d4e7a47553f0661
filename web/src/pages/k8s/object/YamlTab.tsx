import { useQueryClient } from '@tanstack/react-query'
import { useBlocker } from '@tanstack/react-router'
import { Download, Pencil } from 'lucide-react'
import { useMemo, useRef, useState } from 'react'
import type { Place } from '../kube/calls'
import type { KubeObject } from '../kube/object'
import { isSecret } from '../kube/secret'
import { objectKey } from '../kube/useObject'
import { rebased, toYAML } from '../kube/yaml'
import styles from './Object.module.css'
import { Origins } from './Origins'
import { WriteRefused } from './WriteRefused'
import { type Checked, put } from './edit'
import { save } from './save'
import { Button } from '#/ds/Button'
import { Command, CopyButton } from '#/ds/Copy'
import { Diff } from '#/ds/Diff'
import { Checkbox } from '#/ds/Form'
import { Banner } from '#/ds/State'
import { Muted, count } from '#/ds/Text'
import { toast } from '#/ds/toast'
import { Editor } from '#/ds/editor/Editor'

// The hub writes no larger object, and etcd stores none.
const maxWrite = 1_048_576

// wide is where two texts fit beside each other.
const wide = () => typeof matchMedia === 'function' && matchMedia('(min-width: 1200px)').matches

export function YamlTab({ place, object, deleted }: { place: Place; object: KubeObject; deleted: boolean }) {
  const [editing, setEditing] = useState<KubeObject | undefined>()
  const [managed, setManaged] = useState(false)
  const text = useMemo(() => toYAML(object, managed), [object, managed])
  if (editing) return <Edit place={place} base={editing} live={object} onDone={() => setEditing(undefined)} />
  const fields = object.metadata.managedFields?.length ?? 0
  const secret = isSecret(object)
  return (
    <div className={styles.editor}>
      <Origins cluster={place.cluster} object={object} />
      <div className={styles.bar}>
        <Button icon={Pencil} variant="primary" disabled={deleted || secret} onClick={() => setEditing(object)}>
          Edit
        </Button>
        {fields > 0 && <Checkbox label={`managedFields (${fields})`} checked={managed} onChange={setManaged} />}
        <span className={styles.push}>
          <Muted>{count(text.length)} characters</Muted>
        </span>
        <CopyButton text={text} label="Copy the YAML" />
        <Button icon={Download} onClick={() => save(text, `${object.metadata.name}.yaml`, 'application/yaml')}>
          Download
        </Button>
      </div>
      {secret && (
        <Banner tone="idle">
          The values of a Secret stay on the hub, so that it is not edited here. With a kubeconfig of <code>axle clusters kubeconfig {place.cluster}</code>:
          <Command command={`kubectl --namespace ${object.metadata.namespace ?? 'default'} edit secret ${object.metadata.name}`} />
        </Banner>
      )}
      <Editor label={`YAML of ${object.kind} ${object.metadata.name}`} text={text} readOnly />
    </div>
  )
}

type Step = { at: 'edit' } | { at: 'checking' } | { at: 'review'; checked: Checked; applying: boolean }

function Edit({ place, base: began, live, onDone }: { place: Place; base: KubeObject; live: KubeObject; onDone: () => void }) {
  const client = useQueryClient()
  const [base, setBase] = useState(began)
  const [start] = useState(() => toYAML(began))
  const untouched = useRef(start)
  const text = useRef(start)
  const [dirty, setDirty] = useState(false)
  const [size, setSize] = useState(start.length)
  const [step, setStep] = useState<Step>({ at: 'edit' })
  const [failed, setFailed] = useState<unknown>()
  const [compare, setCompare] = useState(false)
  const editor = useRef<{ goTo: (line: number) => void; setText: (text: string) => void }>(null)
  const { name } = base.metadata
  const moved = live.metadata.resourceVersion !== base.metadata.resourceVersion
  useBlocker({ shouldBlockFn: () => dirty && !window.confirm('Leave, and lose what you wrote?'), enableBeforeUnload: dirty })

  const change = (next: string) => {
    text.current = next
    setSize(next.length)
    setDirty(next !== untouched.current)
  }
  const check = async () => {
    setFailed(undefined)
    setStep({ at: 'checking' })
    try {
      setStep({ at: 'review', checked: await put(place, base, text.current, true), applying: false })
    } catch (error) {
      setFailed(error)
      setStep({ at: 'edit' })
    }
  }
  const apply = async (checked: Checked) => {
    setFailed(undefined)
    setStep({ at: 'review', checked, applying: true })
    try {
      const { object, warnings } = await put(place, base, text.current, false)
      client.setQueryData(objectKey(place, name), object)
      setDirty(false)
      toast([`${name} is changed.`, ...warnings].join(' '))
      onDone()
    } catch (error) {
      setFailed(error)
      setStep({ at: 'review', checked, applying: false })
    }
  }
  // What the person wrote stays, in the same editor with its cursor and its history;
  // only the version it is put onto is another.
  const rebase = () => {
    untouched.current = toYAML(live)
    setBase(live)
    editor.current?.setText(rebased(text.current, live.metadata.resourceVersion ?? ''))
    setFailed(undefined)
    setStep({ at: 'edit' })
    setCompare(false)
  }
  const refused = failed === undefined ? null : <WriteRefused error={failed} onLine={(line) => editor.current?.goTo(line)} onCompare={() => setCompare((c) => !c)} onRebase={rebase} moved={moved} />
  const reviewing = step.at === 'review'
  return (
    <div className={styles.editor}>
      <Origins cluster={place.cluster} object={base} />
      {moved && !failed && (
        <Banner tone="warn" actions={<Button onClick={() => setCompare((c) => !c)}>{compare ? 'Hide the change' : 'Show the change'}</Button>}>
          It changed on the cluster since you began. Applying will be a conflict; put your text onto the new version first: <Button onClick={rebase}>Use the new version</Button>
        </Banner>
      )}
      <div className={styles.bar}>
        {reviewing ? (
          <>
            <Button variant="primary" busy={step.applying} onClick={() => void apply(step.checked)}>
              Apply to the cluster
            </Button>
            <Button onClick={() => setStep({ at: 'edit' })}>Back to the text</Button>
            <Muted>The API server accepts this. Nothing is changed yet.</Muted>
          </>
        ) : (
          <>
            <Button variant="primary" busy={step.at === 'checking'} disabled={!dirty || size > maxWrite} onClick={() => void check()}>
              Check and compare
            </Button>
            <Button onClick={() => (!dirty || window.confirm('Discard what you wrote?')) && (setDirty(false), onDone())}>Cancel</Button>
            <Muted>{size > maxWrite ? `${count(size)} characters: at most ${count(maxWrite)} can be written.` : 'The API server checks it first; nothing is changed by that. Tab leaves the editor.'}</Muted>
          </>
        )}
      </div>
      <div role="status">{refused}</div>
      {reviewing && step.checked.warnings.map((w) => (
        <Banner key={w} tone="warn">
          {w}
        </Banner>
      ))}
      {compare && <Diff label="Changes on the cluster since you began" before={toYAML(base)} after={toYAML(live)} split={wide()} />}
      {reviewing && (step.checked.before === step.checked.after ? <Banner tone="idle">Nothing would change.</Banner> : <Diff label={`Changes of ${name}`} before={step.checked.before} after={step.checked.after} split={wide()} />)}
      <div className={styles.editor} hidden={reviewing}>
        <Editor ref={editor} label={`Edit ${base.kind} ${name}`} text={start} onChange={change} />
      </div>
    </div>
  )
}
