import { useState } from 'react'
import styles from '../Settings.module.css'
import { ProofHint } from '../proof'
import { Lifetime, Scopes, day1, days90 } from '../scopes'
import { unary, useCall } from '#/api/call'
import { type CreatedToken, Projects, Tokens } from '#/api/gen/hub/v1/hub_pb'
import { byConsole } from '#/api/manage'
import { session } from '#/api/session'
import { ActionDialog } from '#/ds/ActionDialog'
import { Checkbox, Select, TextField } from '#/ds/Form'

export function TokenDialog({ kind, onClose, onMade }: { kind: 'api' | 'bootstrap'; onClose: () => void; onMade: (t: CreatedToken) => void }) {
  const [name, setName] = useState('')
  const [scopes, setScopes] = useState(['read'])
  const [lifetime, setLifetime] = useState(kind === 'api' ? days90 : day1)
  const [project, setProject] = useState('')
  const [pattern, setPattern] = useState('')
  const [uses, setUses] = useState('1')
  const [approved, setApproved] = useState(false)
  const projects = useCall(Projects.method.list, {}, { enabled: kind === 'bootstrap' })
  const many = Number(uses) > 1
  const check = () => {
    if (kind === 'api') return !name.trim() ? 'Name: it is missing. Say what uses the token.' : scopes.length === 0 ? 'Scopes: choose at least one.' : undefined
    return /^[1-9]\d{0,4}$/.test(uses) ? undefined : 'Uses: a number from 1.'
  }
  const run = async () => {
    const lifetimeMicros = BigInt(lifetime)
    onMade(kind === 'api' ? await unary(Tokens.method.create, { name, scopes, lifetimeMicros }) : await unary(Tokens.method.createBootstrap, { project, namePattern: pattern, maxUses: Number(uses), lifetimeMicros, approved, management: byConsole() }))
  }
  return (
    <ActionDialog title={kind === 'api' ? 'Create a token' : 'Create a bootstrap token'} submit="Create" run={run} check={check} onClose={onClose}>
      <ProofHint />
      {kind === 'api' ? (
        <>
          <TextField label="Name" value={name} onChange={setName} placeholder="laptop, nightly report" autoFocus hint={`It acts as ${session().name}.`} />
          <Scopes value={scopes} onChange={setScopes} />
        </>
      ) : (
        <>
          <Select label="Project" value={project} options={[{ value: '', label: 'default' }, ...(projects.data?.projects ?? []).filter((p) => p.name !== 'default').map((p) => ({ value: p.name, label: p.name }))]} onChange={setProject} />
          <div className={styles.two}>
            <TextField label="Clusters by name" value={pattern} onChange={setPattern} placeholder="edge-*" hint="With * and ?; empty allows any name." />
            <TextField label="Uses" value={uses} onChange={setUses} inputMode="numeric" hint="How many clusters may register." />
          </div>
          {many && <Checkbox label="Clusters need no approval" hint="Anybody with the token can register clusters that get services at once. Without this, an administrator approves each." checked={approved} onChange={setApproved} />}
        </>
      )}
      <Lifetime value={lifetime} onChange={setLifetime} />
    </ActionDialog>
  )
}
