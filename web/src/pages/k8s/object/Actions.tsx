import { RotateCw, Scaling, Trash2 } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import { useNavigate } from '@tanstack/react-router'
import { KubeError } from '../kube/KubeError'
import type { Place } from '../kube/calls'
import { listPath } from '../kube/gvr'
import type { KubeObject } from '../kube/object'
import { originsOf } from '../kube/origin'
import { consequenceOf, typedConfirmation } from './consequence'
import { useWrite } from './useWrite'
import { Button } from '#/ds/Button'
import { TextField } from '#/ds/Form'

const Dialog = lazy(() => import('#/ds/Dialog').then((m) => ({ default: m.Dialog })))

const restartable = new Set(['Deployment', 'StatefulSet', 'DaemonSet'])
const scalable = new Set(['Deployment', 'StatefulSet', 'ReplicaSet', 'ReplicationController'])

// ObjectActions are what a person can do to an object besides editing it.
export function ObjectActions({ place, object }: { place: Place; object: KubeObject }) {
  const { kind } = object
  const { name } = object.metadata
  const [open, setOpen] = useState<'restart' | 'scale' | 'delete' | undefined>()
  const close = () => setOpen(undefined)
  return (
    <>
      {restartable.has(kind) && (
        <Button icon={RotateCw} onClick={() => setOpen('restart')}>
          Restart
        </Button>
      )}
      {scalable.has(kind) && (
        <Button icon={Scaling} onClick={() => setOpen('scale')}>
          Scale
        </Button>
      )}
      <Button icon={Trash2} variant="danger" onClick={() => setOpen('delete')}>
        Delete
      </Button>
      <Suspense fallback={null}>
        {open === 'restart' && <Restart place={place} object={object} onClose={close} />}
        {open === 'scale' && <Scale key={name} place={place} object={object} onClose={close} />}
        {open === 'delete' && <Delete key={name} place={place} object={object} onClose={close} />}
      </Suspense>
    </>
  )
}

interface Props {
  place: Place
  object: KubeObject
  onClose: () => void
}

function Restart({ place, object, onClose }: Props) {
  const { kind, metadata } = object
  const { busy, failed, run } = useWrite(place, metadata.name)
  const replicas = Number(object['spec']?.replicas ?? object['status']?.desiredNumberScheduled ?? 0)
  const restart = async () => {
    const patch = { spec: { template: { metadata: { annotations: { 'kubectl.kubernetes.io/restartedAt': new Date().toISOString().replace(/\.\d+/, '') } } } } }
    if (await run('restart', `${metadata.name} restarts.`, { verb: 'patch', object: JSON.stringify(patch) })) onClose()
  }
  return (
    <Dialog
      title={`Restart ${kind} ${metadata.name}`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" busy={busy !== ''} onClick={() => void restart()}>
            Restart
          </Button>
        </>
      }
    >
      <p>
        Its {replicas === 1 ? 'pod is' : `${replicas} pods are`} replaced by its own rollout strategy, as <code>kubectl rollout restart</code> does.
        {replicas === 1 && ' With one pod, it may not answer for a moment.'}
      </p>
      {failed && <KubeError title="It was not restarted" error={failed.error} />}
    </Dialog>
  )
}

function Scale({ place, object, onClose }: Props) {
  const { kind, metadata } = object
  const now = Number(object['spec']?.replicas ?? 1)
  const [text, setText] = useState(String(now))
  const { busy, failed, run } = useWrite(place, metadata.name)
  const wanted = /^\d{1,5}$/.test(text) ? Number(text) : undefined
  const [origin] = originsOf(object)
  const scale = async () => {
    if (wanted === undefined) return
    if (await run('scale', `${metadata.name} scales to ${wanted}.`, { verb: 'patch', subresource: 'scale', object: JSON.stringify({ spec: { replicas: wanted } }) })) onClose()
  }
  return (
    <Dialog
      title={`Scale ${kind} ${metadata.name}`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" busy={busy !== ''} disabled={wanted === undefined || wanted === now} onClick={() => void scale()}>
            Scale to {wanted ?? '…'}
          </Button>
        </>
      }
    >
      <TextField label="Replicas" type="number" min={0} max={99999} inputMode="numeric" autoFocus value={text} onChange={setText} hint={`Now ${now}.`} problem={wanted === undefined ? 'A whole number from 0 to 99999.' : undefined} />
      {wanted === 0 && <p>With 0 replicas nothing of it runs.</p>}
      {origin && <p>Its replicas may be part of what {origin.tool === 'owner' ? origin.id : origin.tool} applies: then {origin.effect}.</p>}
      {failed && <KubeError title="It was not scaled" error={failed.error} />}
    </Dialog>
  )
}

function Delete({ place, object, onClose }: Props) {
  const { kind, metadata } = object
  const navigate = useNavigate()
  const [typed, setTyped] = useState('')
  const { busy, failed, run } = useWrite(place, metadata.name)
  const confirm = typedConfirmation(object)
  const ready = !confirm || typed === metadata.name
  const origins = originsOf(object)
  const remove = async () => {
    if (!(await run('delete', `${kind} ${metadata.name} is being deleted.`, { verb: 'delete' }))) return
    onClose()
    void navigate({ to: listPath(place.cluster, place.gvr) })
  }
  return (
    <Dialog
      alert
      title={`Delete ${kind} ${metadata.name}?`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="danger" busy={busy !== ''} disabled={!ready} onClick={() => void remove()}>
            Delete {metadata.name}
          </Button>
        </>
      }
    >
      <p>{consequenceOf(object)}</p>
      {origins.map((o) => (
        <p key={o.tool}>{o.tool === 'owner' ? `${o.id} owns it and may create it again.` : `It comes from ${o.tool}${o.tool === 'Axle' ? '' : ` ${o.id}`}, which may create it again: ${o.effect}.`}</p>
      ))}
      {confirm && <TextField label={`Type ${metadata.name} to confirm`} value={typed} onChange={setTyped} autoFocus autoComplete="off" spellCheck={false} />}
      {failed && <KubeError title="It was not deleted" error={failed.error} />}
    </Dialog>
  )
}
