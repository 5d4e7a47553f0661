import { type FormEvent, useState } from 'react'
import styles from '../Settings.module.css'
import { PlaceFields } from './PlaceFields'
import { checkPlace, placeOf, placeText } from './matrix'
import { unary } from '#/api/call'
import { Access, type CanIResponse } from '#/api/gen/hub/v1/access_pb'
import { words } from '#/api/rules'
import { session } from '#/api/session'
import { Button } from '#/ds/Button'
import { Select, TextField } from '#/ds/Form'
import { Panel } from '#/ds/Panel'
import { Banner, ErrorPanel } from '#/ds/State'
import { Status } from '#/status/Status'

const asked = [...words.actions, 'admin']

// CheckAccess asks the hub itself, so its answer is what a call would get.
export function CheckAccess() {
  const me = session()
  const [who, setWho] = useState(me.name)
  const [action, setAction] = useState('read')
  const [level, setLevel] = useState('hub')
  const [object, setObject] = useState('')
  const [wrong, setWrong] = useState<string>()
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const [answer, setAnswer] = useState<{ question: string; said: CanIResponse }>()
  const ask = async (event: FormEvent) => {
    event.preventDefault()
    const bad = checkPlace(level, object)
    setWrong(bad)
    setError(undefined)
    setAnswer(undefined)
    if (bad) return
    setBusy(true)
    try {
      const said = await unary(Access.method.canI, { action, place: placeOf(level, object), as: who === me.name ? '' : who })
      setAnswer({ question: `${who} ${action} on ${placeText({ level, object })}`, said })
    } catch (e) {
      setError(e)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Panel title="Check access">
      <form className={styles.stack} onSubmit={(e) => void ask(e)}>
        <div className={styles.two}>
          <TextField label="Who" value={who} onChange={setWho} disabled={!me.admin} autoComplete="off" hint={me.admin ? 'An e-mail, or the name of a service account.' : 'Only administrators may ask about others.'} />
          <Select label="May they" value={action} options={asked.map((value) => ({ value, label: value }))} onChange={setAction} />
        </div>
        <PlaceFields
          level={level}
          object={object}
          onChange={(l, o) => {
            setLevel(l)
            setObject(o)
          }}
        />
        {wrong && <Banner tone="bad">{wrong}</Banner>}
        <div>
          <Button type="submit" busy={busy}>
            Check
          </Button>
        </div>
      </form>
      <div role="status">
        {answer && (
          <Banner tone={answer.said.allowed ? 'busy' : 'idle'}>
            <p>
              <Status word={answer.said.allowed ? 'Done' : 'Cancelled'} label={answer.said.allowed ? 'Yes' : 'No'} title={answer.said.allowed ? 'allowed' : 'not allowed'} />: {answer.question}
            </p>
            <p>{answer.said.reason}</p>
          </Banner>
        )}
      </div>
      {error !== undefined && <ErrorPanel title="The check failed" error={error} />}
    </Panel>
  )
}
