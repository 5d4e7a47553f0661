import { Link } from '@tanstack/react-router'
import { Plus, Send } from 'lucide-react'
import { useState } from 'react'
import { RouterDialog } from './RouterDialog'
import { SinkDialog } from './SinkDialog'
import { filterLine, typeText } from './form'
import styles from '../Settings.module.css'
import { unary, useCall } from '#/api/call'
import { type NotificationRouter, NotificationRouters, type NotificationSink, NotificationSinks } from '#/api/gen/hub/v1/notifications_pb'
import { byConsole, useAgain } from '#/api/manage'
import { useMaySomewhere } from '#/api/may'
import { ActionDialog } from '#/ds/ActionDialog'
import { Button } from '#/ds/Button'
import { Command } from '#/ds/Copy'
import { MayNot } from '#/ds/Forbidden'
import { type Col, Listing } from '#/ds/Listing'
import { ManagedBy } from '#/ds/ManagedBy'
import { PageHeader } from '#/ds/PageHeader'
import { Panel } from '#/ds/Panel'
import { Banner, Empty, ErrorPanel } from '#/ds/State'
import { Muted, Tag, count, many } from '#/ds/Text'
import { toast } from '#/ds/toast'
import { Age } from '#/status/Age'
import { Status } from '#/status/Status'

function Deliveries({ sink }: { sink: NotificationSink }) {
  const s = sink.state
  if (!s) return null
  return (
    <>
      {s.error ? (
        <div>
          <Status word="Failed" at={s.errorAt} />
          <div className={styles.muted}>{s.error}</div>
        </div>
      ) : s.sentAt ? (
        <Status word="Done" label="Delivered" at={s.sentAt} />
      ) : (
        <Muted>nothing yet</Muted>
      )}
      <div className={styles.muted}>
        {[`${count(s.sent)} sent`, s.waiting > 0n && `${count(s.waiting)} waiting`, s.failed > 0n && `${count(s.failed)} given up`, s.dropped > 0n && `${count(s.dropped)} dropped`].filter(Boolean).join(', ')}
      </div>
    </>
  )
}

const sinkCols: Col<NotificationSink>[] = [
  { id: 'name', header: 'Sink', cell: (s) => <>{s.name}{s.settings?.project && <div className={styles.muted}>project {s.settings.project}</div>}</> },
  { id: 'type', header: 'Sends to', grow: true, cell: (s) => <>{typeText(s.settings?.type ?? '')}<div className={styles.muted}>{s.host ? `${s.host}${s.signed ? ', signed' : ''}` : [...(s.settings?.users ?? []), ...(s.settings?.groups ?? [])].join(', ')}</div></> },
  { id: 'state', header: 'Last delivery', cell: (s) => <Deliveries sink={s} /> },
  { id: 'manager', header: 'Managed by', cell: (s) => <ManagedBy manager={s.managedBy} /> },
]

const routerCols: Col<NotificationRouter>[] = [
  { id: 'name', header: 'Router', cell: (r) => <>{r.name}{r.settings?.project && <div className={styles.muted}>project {r.settings.project}</div>}</> },
  {
    id: 'events',
    header: 'Events',
    grow: true,
    cell: (r) => (
      <>
        <span className={styles.inline}>
          {r.settings?.events.map((e) => (
            <Tag key={e}>{e}</Tag>
          ))}
        </span>
        {r.silentEvents.length > 0 && <div className={styles.muted}>nothing makes yet: {r.silentEvents.join(', ')}</div>}
      </>
    ),
  },
  { id: 'filters', header: 'Only where', cell: (r) => (r.settings?.filters.length ? r.settings.filters.map((f) => <div key={filterLine(f)}>{filterLine(f)}</div>) : <Muted>everywhere</Muted>) },
  { id: 'sinks', header: 'To', cell: (r) => r.settings?.sinks.join(', ') },
  { id: 'changed', header: 'Changed', cell: (r) => <Age at={r.updatedAt} after="ago" /> },
  { id: 'manager', header: 'Managed by', cell: (r) => <ManagedBy manager={r.managedBy} /> },
]

type Open = { what: 'sink'; sink?: NotificationSink } | { what: 'router'; router?: NotificationRouter } | { what: 'delete-sink'; sink: NotificationSink } | { what: 'delete-router'; router: NotificationRouter }

export function Page() {
  const sinks = useCall(NotificationSinks.method.list, {})
  const routers = useCall(NotificationRouters.method.list, {})
  const may = useMaySomewhere('write')
  const again = useAgain(NotificationSinks.method.list, NotificationRouters.method.list)
  const [open, setOpen] = useState<Open>()
  const [testing, setTesting] = useState('')
  const [tested, setTested] = useState<{ name: string; answer?: string; error?: unknown }>()
  const close = () => setOpen(undefined)
  const test = async (name: string) => {
    setTesting(name)
    setTested(undefined)
    try {
      const { answer } = await unary(NotificationSinks.method.test, { name })
      setTested({ name, answer })
    } catch (error) {
      setTested({ name, error })
    } finally {
      setTesting('')
      void again()
    }
  }
  const sinkActions = (sink: NotificationSink) => (
    <>
      <Button icon={Send} busy={testing === sink.name} onClick={() => void test(sink.name)} aria-label={`Test ${sink.name}`}>
        Test
      </Button>
      <Button variant="quiet" onClick={() => setOpen({ what: 'sink', sink })} aria-label={`Edit ${sink.name}`}>
        Edit
      </Button>
      <Button variant="quiet" onClick={() => setOpen({ what: 'delete-sink', sink })} aria-label={`Delete ${sink.name}`}>
        Delete
      </Button>
    </>
  )
  const routerActions = (router: NotificationRouter) => (
    <>
      <Button variant="quiet" onClick={() => setOpen({ what: 'router', router })} aria-label={`Edit ${router.name}`}>
        Edit
      </Button>
      <Button variant="quiet" onClick={() => setOpen({ what: 'delete-router', router })} aria-label={`Delete ${router.name}`}>
        Delete
      </Button>
    </>
  )
  const allSinks = sinks.data?.sinks
  const using = open?.what === 'delete-sink' ? (routers.data?.routers.filter((r) => r.settings?.sinks.includes(open.sink.name)) ?? []) : []
  return (
    <>
      <PageHeader title="Notifications" heading="Notification routing">
        <p>
          A sink is a destination of notifications; a router selects the events for it. Notifications sent to you are in <Link to="/notifications">Notifications</Link>.
        </p>
        {may.allowed === false && <MayNot what="change them" reason={may.reason} />}
      </PageHeader>
      <Panel
        title="Sinks"
        flush
        aside={
          may.allowed === true && (
            <Button variant="primary" icon={Plus} onClick={() => setOpen({ what: 'sink' })}>
              Add a sink
            </Button>
          )
        }
      >
        <div role="status">
          {tested && tested.error === undefined && (
            <div className={styles.pad}>
              <Banner tone="busy" icon={Send}>
                {tested.name} answered: <b>{tested.answer || 'nothing, and accepted it'}</b>
              </Banner>
            </div>
          )}
        </div>
        {tested?.error !== undefined && (
          <div className={styles.pad}>
            <ErrorPanel title={`The test of ${tested.name} failed`} error={tested.error} retry={() => void test(tested.name)} />
          </div>
        )}
        <Listing
          label="Sinks"
          cols={sinkCols}
          rows={allSinks}
          error={sinks.error}
          retry={() => void sinks.refetch()}
          idOf={(s) => s.id}
          {...(may.allowed ? { actions: sinkActions } : {})}
          empty={
            <Empty title="No sinks yet: nobody is notified">
              <Command command="axle notifications sinks create ops --type slack --url-file slack.url" />
            </Empty>
          }
        />
      </Panel>
      <Panel
        title="Routers"
        flush
        aside={
          may.allowed === true && (
            <Button icon={Plus} onClick={() => setOpen({ what: 'router' })} disabled={!allSinks?.length}>
              Add a router
            </Button>
          )
        }
      >
        <Listing
          label="Routers"
          cols={routerCols}
          rows={routers.data?.routers}
          error={routers.error}
          retry={() => void routers.refetch()}
          idOf={(r) => r.id}
          {...(may.allowed ? { actions: routerActions } : {})}
          empty={
            <Empty title="No routers yet">
              <p>{allSinks?.length ? 'Sinks get nothing until a router sends events to them.' : 'Add a sink first.'}</p>
              <Command command="axle notifications routers create failures --event service.failed --event service.recovered --sink ops" />
            </Empty>
          }
        />
      </Panel>
      {open?.what === 'sink' && <SinkDialog {...(open.sink ? { sink: open.sink } : {})} onClose={close} onDone={again} />}
      {open?.what === 'router' && <RouterDialog {...(open.router ? { router: open.router } : {})} sinks={allSinks ?? []} onClose={close} onDone={again} />}
      {open?.what === 'delete-sink' && (
        <ActionDialog
          title={`Delete the sink ${open.sink.name}?`}
          submit="Delete the sink"
          danger
          takeOver
          onClose={close}
          run={async (takeOver) => {
            await unary(NotificationSinks.method.delete, { name: open.sink.name, management: byConsole(takeOver) })
            await again()
            toast(`${open.sink.name} was deleted`)
          }}
        >
          {using.length > 0 ? (
            <p>
              Routers that name it: {using.map((r) => r.name).join(', ')}. The hub refuses to delete it until none does.
            </p>
          ) : (
            <p>{open.sink.state?.waiting ? `Its queue is lost: ${many(open.sink.state.waiting, 'message')}. ` : ''}There is no undo: add it again with its URL.</p>
          )}
        </ActionDialog>
      )}
      {open?.what === 'delete-router' && (
        <ActionDialog
          title={`Delete the router ${open.router.name}?`}
          submit="Delete the router"
          danger
          takeOver
          onClose={close}
          run={async (takeOver) => {
            await unary(NotificationRouters.method.delete, { name: open.router.name, management: byConsole(takeOver) })
            await again()
            toast(`${open.router.name} was deleted`)
          }}
        >
          <p>
            It no longer sends {open.router.settings?.events.join(', ')} to {open.router.settings?.sinks.join(', ')}. Undo: add it again.
          </p>
        </ActionDialog>
      )}
    </>
  )
}
