import { useState } from 'react'
import styles from '../Settings.module.css'
import { PlaceFields } from './PlaceFields'
import { type Action, type Grant, actions, changeOf, checkPlace, gives, lossOf, placeOf, placeText, subjectText } from './matrix'
import { unary, useCall } from '#/api/call'
import { Bindings, Groups, Users } from '#/api/gen/hub/v1/access_pb'
import { byConsole } from '#/api/manage'
import { ActionDialog } from '#/ds/ActionDialog'
import { Checkbox, Select, TextField } from '#/ds/Form'
import { ManagedBy } from '#/ds/ManagedBy'
import { many } from '#/ds/Text'
import { toast } from '#/ds/toast'

interface Props {
  // The row to change; without it a new one.
  grant?: Grant
  onClose: () => void
  onDone: () => Promise<void>
}

// GrantDialog gives a subject actions at a place, or changes and takes them.
export function GrantDialog({ grant, onClose, onDone }: Props) {
  const had = grant ? [...grant.bindings.keys()] : []
  const [kind, setKind] = useState(grant?.subjectKind ?? 'group')
  const [subject, setSubject] = useState(grant?.subject ?? '')
  const [level, setLevel] = useState(grant?.level ?? 'project')
  const [object, setObject] = useState(grant?.object ?? '')
  const [wanted, setWanted] = useState<Action[]>(grant ? had : ['read'])
  const groups = useCall(Groups.method.list, {}, { enabled: kind === 'group' })
  const users = useCall(Users.method.list, {}, { enabled: kind !== 'group' })
  const change = changeOf(had, wanted)
  const lost = lossOf(had, wanted)
  const members = kind === 'group' ? groups.data?.groups.find((g) => g.name === subject)?.members : undefined
  const managers = grant ? [...grant.bindings.values()].filter((b) => b.managedBy && b.managedBy.tool !== 'cli' && b.managedBy.tool !== 'console') : []
  const known = kind === 'group' ? groups.data?.groups.map((g) => g.name) : users.data?.users.filter((u) => u.kind === kind).map((u) => u.name)
  const who = subject ? subjectText({ subjectKind: kind, subject }) : 'The subject'
  const check = () => {
    if (!subject.trim()) return 'Subject: name who gets it.'
    if (!grant && wanted.length === 0) return 'Actions: choose at least one.'
    return checkPlace(level, object)
  }
  const run = async (takeOver: boolean) => {
    const about = { subjectKind: kind, subject, place: placeOf(level, object), management: byConsole(takeOver) }
    // Giving comes first: a change from read to write leaves no gap.
    if (change.create.length) await unary(Bindings.method.create, { ...about, actions: change.create })
    if (change.remove.length) await unary(Bindings.method.delete, { ...about, actions: change.remove })
    await onDone()
    toast(change.remove.length && !change.create.length ? 'Taken: it ends everywhere within 5 s' : 'Given: it holds everywhere within 5 s')
  }
  const takesAll = grant !== undefined && wanted.length === 0
  return (
    <ActionDialog title={grant ? `${subjectText(grant)} on ${placeText(grant)}` : 'Give a role'} submit={takesAll ? 'Take all of it' : grant ? 'Save' : 'Give it'} danger={lost.length > 0} takeOver run={run} check={check} onClose={onClose}>
      {managers[0] && <ManagedBy manager={managers[0].managedBy} prefix />}
      {!grant && (
        <>
          <div className={styles.two}>
            <Select
              label="Subject"
              value={kind}
              options={[
                { value: 'group', label: 'A group' },
                { value: 'user', label: 'A user' },
                { value: 'service_account', label: 'A service account' },
              ]}
              onChange={(k) => {
                setKind(k)
                setSubject('')
              }}
            />
            <TextField label="Name" value={subject} onChange={setSubject} list="grant-subjects" autoComplete="off" placeholder={kind === 'user' ? 'ann@example.com' : ''} />
            <datalist id="grant-subjects">
              {known?.slice(0, 500).map((name) => (
                <option key={name} value={name}>
                {name}
              </option>
              ))}
            </datalist>
          </div>
          <PlaceFields
            level={level}
            object={object}
            onChange={(l, o) => {
              setLevel(l)
              setObject(o)
            }}
          />
        </>
      )}
      <fieldset className={styles.stack} style={{ border: 0, margin: 0, padding: 0 }}>
        <legend className="visually-hidden">Actions</legend>
        {actions.map((a) => (
          <Checkbox key={a} label={a} hint={gives[a]} checked={wanted.includes(a)} onChange={(on) => setWanted(on ? [...wanted, a] : wanted.filter((w) => w !== a))} />
        ))}
      </fieldset>
      {lost.length > 0 ? (
        <p>
          {who}
          {members !== undefined && `, ${many(members, 'member')},`} can no longer {lost.join(', ')} on {placeText({ level, object })} and below, within 5 s, unless another role gives it. Undo: give it again here.
        </p>
      ) : (
        change.create.length > 0 &&
        subject && (
          <p className={styles.muted}>
            {who}
            {members !== undefined && `, ${many(members, 'member')},`} may {change.create.join(', ')} on {placeText({ level, object })} and everything below. Undo: take it here.
          </p>
        )
      )}
    </ActionDialog>
  )
}
