import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import styles from './Activity.module.css'
import { eventFields, eventMatches, pathOf, requestOf, toneOf } from './events'
import { keyOf, useCall } from '#/api/call'
import { type Event, Events } from '#/api/gen/hub/v1/hub_pb'
import type { Search } from '#/app/search'
import { ViewControl } from '#/app/views/ViewControl'
import { Button } from '#/ds/Button'
import { Command } from '#/ds/Copy'
import { FilterSentence } from '#/ds/FilterSentence'
import { filtersOf, viewNameOf, withFilters } from '#/ds/filters'
import { Empty } from '#/ds/State'
import { Badge, Middle, Muted, many } from '#/ds/Text'
import { DataGrid } from '#/grid/DataGrid'
import type { Column } from '#/grid/layout'
import { useArray } from '#/grid/useArray'
import { useHint } from '#/live/useLive'
import { Age } from '#/status/Age'
import { now } from '#/status/clock'

function Subject({ event: e }: { event: Event }) {
  const path = pathOf(e.object)
  return path ? (
    <Link to={path} tabIndex={-1}>
      <Middle text={e.object} tail={12} />
    </Link>
  ) : (
    <Middle text={e.object} tail={12} />
  )
}

const columns: Column<Event>[] = [
  { id: 'at', header: 'When', min: 64, cell: (e) => <Age at={e.at} after="ago" /> },
  { id: 'kind', header: 'Kind', min: 120, grow: 1, cell: (e) => <Badge tone={toneOf(e.kind)}>{e.kind}</Badge> },
  { id: 'object', header: 'About', min: 110, grow: 2, cell: (e) => <Subject event={e} /> },
  { id: 'message', header: 'Message', min: 260, grow: 5, drop: 2, cell: (e) => <span title={e.message}>{e.message}</span> },
  { id: 'by', header: 'By', min: 150, grow: 1, drop: 3, cell: (e) => e.by || <Muted>the hub</Muted> },
]

const limits = [100, 500, 1_000]

export function EventLog() {
  const search = useSearch({ strict: false }) as Search
  const navigate = useNavigate()
  const [size, setSize] = useState(0)
  const values = filtersOf(search, eventFields)
  const limit = limits[size]!
  const { data, error, isPending, isFetching, refetch } = useCall(Events.method.list, { ...requestOf(values), limit }, { keep: true })
  useHint(['events'], keyOf(Events.method.list))
  const key = JSON.stringify(values)
  // oxlint-disable-next-line react/exhaustive-deps -- key is what values say
  const rows = useMemo(() => (data?.events ?? []).filter((e) => eventMatches(e, values, now())), [data, key])
  const source = useArray(rows, { loading: isPending, error, retry: () => void refetch() })
  const read = data?.events.length ?? 0
  return (
    <>
      <FilterSentence noun="events" fields={eventFields} values={values} onChange={(next) => void navigate({ to: '/activity', search: withFilters(search, eventFields, next) as never, replace: true })}>
        <ViewControl suggest={() => viewNameOf('events', eventFields, values)} />
      </FilterSentence>
      <DataGrid
        label="Events"
        source={source}
        columns={columns}
        idOf={(e) => String(e.id)}
        onOpen={(e) => {
          const path = pathOf(e.object)
          if (path) void navigate({ to: path })
        }}
        empty={
          Object.keys(values).length ? (
            <Empty title={`No event matches among the newest ${read}`} actions={<Button onClick={() => void navigate({ to: '/activity', search: { tab: 'events' } as never })}>Clear the filter</Button>} />
          ) : (
            <Empty title="No events yet">
              <p>The hub notes what changes: clusters that connect, services that apply, fail and recover.</p>
              <Command command="axle events --follow" />
            </Empty>
          )
        }
      />
      <div className={styles.foot}>
        <span>
          {rows.length === read ? many(read, 'event') : `${rows.length} of ${many(read, 'event')}`}, newest first.
        </span>
        {read === limit && size < limits.length - 1 && (
          <Button busy={isFetching} onClick={() => setSize(size + 1)}>
            Load older
          </Button>
        )}
        {read === 1_000 && <span>The hub answers the newest 1,000; what people did before is in the audit log.</span>}
      </div>
    </>
  )
}
