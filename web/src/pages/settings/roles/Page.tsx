import { useNavigate, useSearch } from '@tanstack/react-router'
import { Check, Minus, Plus } from 'lucide-react'
import { useMemo, useState } from 'react'
import { CheckAccess } from './CheckAccess'
import { GrantDialog } from './GrantDialog'
import styles from './Roles.module.css'
import { type Action, type Grant, actions, cellOf, gives, grantsOf, placeText, subjectText } from './matrix'
import { useCall } from '#/api/call'
import { Access, Bindings } from '#/api/gen/hub/v1/access_pb'
import { useAgain } from '#/api/manage'
import { session } from '#/api/session'
import { type Search, textOf } from '#/app/search'
import { Button } from '#/ds/Button'
import { Command } from '#/ds/Copy'
import { TextField } from '#/ds/Form'
import { MayNot } from '#/ds/Forbidden'
import { type Col, Listing } from '#/ds/Listing'
import { ManagedBy } from '#/ds/ManagedBy'
import { PageHeader } from '#/ds/PageHeader'
import { Panel } from '#/ds/Panel'
import { Empty } from '#/ds/State'

function Mark({ grant, action }: { grant: Grant; action: Action }) {
  const cell = cellOf(grant, action)
  if (cell === 'no')
    return (
      <span className={`${styles.mark} ${styles.no}`}>
        <Minus size={14} aria-hidden />
        <span className="visually-hidden">no</span>
      </span>
    )
  return (
    <span className={`${styles.mark} ${cell === 'yes' ? styles.yes : styles.implied}`} title={cell === 'yes' ? gives[action] : 'included in write'}>
      <Check size={14} aria-hidden />
      {cell === 'yes' ? <span className="visually-hidden">yes</span> : 'by write'}
    </span>
  )
}

const cols: Col<Grant>[] = [
  { id: 'subject', header: 'Who', grow: true, cell: subjectText },
  { id: 'place', header: 'Where', cell: placeText },
  ...actions.map((a): Col<Grant> => ({ id: a, header: a, cell: (g) => <Mark grant={g} action={a} /> })),
  { id: 'manager', header: 'Managed by', cell: (g) => <ManagedBy manager={[...g.bindings.values()][0]?.managedBy} /> },
]

export function Page() {
  const { admin, name } = session()
  const search = useSearch({ strict: false }) as Search
  const navigate = useNavigate()
  const q = textOf(search['q'])
  const { data, error, refetch } = useCall(Bindings.method.list, {})
  const again = useAgain(Bindings.method.list, Access.method.canI)
  const [adding, setAdding] = useState(false)
  const [changing, setChanging] = useState<Grant>()
  const rows = useMemo(() => {
    const words = q.toLowerCase().split(/\s+/).filter(Boolean)
    return data && grantsOf(data.bindings).filter((g) => words.every((w) => `${subjectText(g)} ${placeText(g)} ${[...g.bindings.keys()].join(' ')}`.toLowerCase().includes(w)))
  }, [data, q])
  const change = (g: Grant) => (
    <Button variant="quiet" onClick={() => setChanging(g)} aria-label={`Change ${subjectText(g)} on ${placeText(g)}`}>
      Change
    </Button>
  )
  return (
    <>
      <PageHeader
        title="Roles"
        actions={
          admin && (
            <Button variant="primary" icon={Plus} onClick={() => setAdding(true)}>
              Give a role
            </Button>
          )
        }
      >
        <p>A role binding gives a user, a group or a service account an action at a place and everything below it. Administrators need none.</p>
        {!admin && <MayNot what="change role bindings" reason="administrators do. These are yours and those of your groups." />}
      </PageHeader>
      <Panel title="Role bindings" flush aside={<TextField label="Filter" hideLabel placeholder="Who, where, action…" value={q} onChange={(v) => void navigate({ to: '/settings/roles', search: { q: v || undefined } as never, replace: true })} />}>
        <Listing
          label="Role bindings"
          cols={cols}
          rows={rows}
          error={error}
          retry={() => void refetch()}
          idOf={(g) => g.id}
          {...(admin ? { actions: change } : {})}
          empty={
            q ? (
              <Empty title="No role matches" actions={<Button onClick={() => void navigate({ to: '/settings/roles', search: {} as never })}>Clear the filter</Button>} />
            ) : (
              <Empty title={admin ? 'No roles yet: only administrators may do something' : 'You have no role'}>
                <p>{admin ? 'Give a group what its members need, best on a project.' : 'An administrator gives you one with:'}</p>
                <Command command={admin ? 'axle auth bind --group "web team" --action write,git --project shop' : `axle auth bind --user ${name} --action read --project NAME`} />
              </Empty>
            )
          }
        />
      </Panel>
      <CheckAccess />
      {adding && <GrantDialog onClose={() => setAdding(false)} onDone={again} />}
      {changing && <GrantDialog grant={changing} onClose={() => setChanging(undefined)} onDone={again} />}
    </>
  )
}
