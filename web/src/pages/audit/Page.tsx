import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Download, RotateCw } from 'lucide-react'
import { Suspense, lazy, useMemo, useState } from 'react'
import styles from './Audit.module.css'
import { Chain } from './Chain'
import { csvOf, jsonOf, save } from './export'
import { auditFields, requestOf } from './filter'
import { Result } from './Result'
import { type Line, lineOf, objectOf, verbOf } from './record'
import { keyOf, unary, useCall } from '#/api/call'
import { Audit } from '#/api/gen/hub/v1/audit_pb'
import { session } from '#/api/session'
import { type Search, textOf } from '#/app/search'
import { ViewControl } from '#/app/views/ViewControl'
import { Button } from '#/ds/Button'
import { FilterSentence } from '#/ds/FilterSentence'
import { filtersOf, sentenceOf, viewNameOf, withFilters } from '#/ds/filters'
import { AdminOnly } from '#/ds/Forbidden'
import { PageHeader } from '#/ds/PageHeader'
import { Empty, ErrorPanel } from '#/ds/State'
import { Middle, Muted, count, many } from '#/ds/Text'
import { toast } from '#/ds/toast'
import { DataGrid } from '#/grid/DataGrid'
import type { Column } from '#/grid/layout'
import { useArray } from '#/grid/useArray'
import { Age } from '#/status/Age'
import { now } from '#/status/clock'

const RecordDialog = lazy(() => import('./RecordDialog').then((m) => ({ default: m.RecordDialog })))

const columns: Column<Line>[] = [
  { id: 'at', header: 'When', min: 64, cell: (l) => <Age at={l.facts.at} never="unknown" after="ago" /> },
  { id: 'actor', header: 'Actor', min: 108, grow: 2, cell: (l) => (l.facts.actor ? <Middle text={l.facts.actor} tail={10} /> : <Muted>nobody</Muted>) },
  {
    id: 'verb',
    header: 'Verb',
    min: 118,
    grow: 2,
    cell: (l) => (
      <Link to="/audit" search={(before: Search) => ({ ...before, record: String(l.seq) }) as never} tabIndex={-1}>
        {verbOf(l.facts)}
      </Link>
    ),
  },
  { id: 'object', header: 'Object', min: 170, grow: 3, drop: 2, cell: (l) => <Middle text={objectOf(l.facts)} tail={12} /> },
  { id: 'result', header: 'Result', min: 150, drop: 1, cell: (l) => <Result result={l.facts.result} /> },
  { id: 'source', header: 'Source address', min: 120, drop: 3, cell: (l) => l.facts.source },
  { id: 'seq', header: 'Record', min: 76, drop: 4, align: 'end', cell: (l) => count(l.seq) },
]

const size = 200
const exportLimit = 50_000

export function Page() {
  return (
    <>
      <PageHeader title="Audit">
        <p>Every write: its user, token, address, object and result. Calls that only read are not recorded.</p>
      </PageHeader>
      <AdminOnly what="read the audit log">
        <Log />
      </AdminOnly>
    </>
  )
}

function Log() {
  const search = useSearch({ strict: false }) as Search
  const navigate = useNavigate()
  const [exporting, setExporting] = useState('')
  const [failed, setFailed] = useState<unknown>()
  const values = filtersOf(search, auditFields)
  const key = JSON.stringify(values)
  const log = useInfiniteQuery({
    queryKey: [...keyOf(Audit.method.list), key],
    queryFn: ({ pageParam, signal }) => unary(Audit.method.list, { ...requestOf(values, now()), limit: size, before: pageParam }, signal),
    initialPageParam: 0n,
    getNextPageParam: (page) => (page.records.length === size ? page.records.at(-1)!.seq : undefined),
    staleTime: 30_000,
  })
  const lines = useMemo(() => (log.data?.pages ?? []).flatMap((p) => p.records.map(lineOf)), [log.data])
  const source = useArray(lines, { loading: log.isPending, error: log.error, retry: () => void log.refetch() })
  const open = textOf(search['record'])
  const known = lines.find((l) => String(l.seq) === open)
  // A link to one record works although it is not among those that were read.
  const single = useCall(Audit.method.list, { after: BigInt(/^\d+$/.test(open) ? open : 0) - 1n, oldestFirst: true, limit: 1 }, { enabled: /^\d+$/.test(open) && !known && !log.isPending })
  const other = single.data?.records[0]
  const shown = known ?? (other && String(other.seq) === open ? lineOf(other) : undefined)
  const go = (change: Search) => void navigate({ to: '/audit', search: { ...search, ...change } as never, replace: true, resetScroll: false })

  const exportAs = async (kind: 'csv' | 'json') => {
    setFailed(undefined)
    const all: Line[] = []
    try {
      let before = 0n
      while (all.length < exportLimit) {
        const page = await unary(Audit.method.list, { ...requestOf(values, now()), limit: 1_000, before })
        all.push(...page.records.map(lineOf))
        setExporting(`${count(all.length)} records`)
        if (page.records.length < 1_000) break
        before = page.records.at(-1)!.seq
      }
      const name = `audit-${new Date(now()).toISOString().slice(0, 19).replaceAll(':', '')}.${kind === 'csv' ? 'csv' : 'jsonl'}`
      save(name, kind === 'csv' ? 'text/csv' : 'application/x-ndjson', kind === 'csv' ? csvOf(all) : jsonOf(all))
      toast(all.length >= exportLimit ? `The newest ${count(all.length)} records are in ${name}; for all: axle audit export` : `${many(all.length, 'record')} are in ${name}`)
    } catch (e) {
      setFailed(e)
    } finally {
      setExporting('')
    }
  }

  return (
    <>
      <Chain />
      <FilterSentence noun="records" fields={auditFields} values={values} onChange={(next) => void navigate({ to: '/audit', search: withFilters(search, auditFields, next, ['record']) as never, replace: true })}>
        <ViewControl suggest={() => viewNameOf('audit records', auditFields, values)} />
      </FilterSentence>
      <DataGrid
        label="Audit log"
        source={source}
        columns={columns}
        idOf={(l) => String(l.seq)}
        onOpen={(l) => go({ record: String(l.seq) })}
        onPeek={(l) => go({ record: l && String(l.seq) })}
        actions={(l) => [
          { id: 'open', label: 'Details', keys: 'Enter', run: () => go({ record: String(l.seq) }) },
          ...(l.facts.actor ? [{ id: 'actor', label: `Only by ${l.facts.actor}`, run: () => go({ actor: l.facts.actor }) }] : []),
          ...(l.facts.name ? [{ id: 'object', label: `Only about ${l.facts.name}`, run: () => go({ object: l.facts.name }) }] : []),
        ]}
        empty={
          Object.keys(values).length ? (
            <Empty title={`No record where ${sentenceOf(auditFields, values)}`} actions={<Button onClick={() => void navigate({ to: '/audit', search: {} as never })}>Clear the filter</Button>} />
          ) : (
            <Empty title="No records yet">
              <p>Every call that changes something is recorded here, also when it is refused.</p>
            </Empty>
          )
        }
      />
      {failed !== undefined && <ErrorPanel title="The export failed" error={failed} />}
      {lines.length > 0 && (
        <div className={styles.foot}>
          <span>{many(lines.length, 'record')}, newest first</span>
          {log.hasNextPage && (
            <Button busy={log.isFetchingNextPage} onClick={() => void log.fetchNextPage()}>
              Load older
            </Button>
          )}
          <Button icon={RotateCw} onClick={() => void log.refetch()} busy={log.isRefetching && !log.isFetchingNextPage}>
            Load newer
          </Button>
          <Button icon={Download} busy={exporting !== ''} onClick={() => void exportAs('csv')}>
            {exporting || 'Export CSV'}
          </Button>
          <Button icon={Download} busy={exporting !== ''} onClick={() => void exportAs('json')}>
            Export JSON
          </Button>
          <span>An export has what the filter selects, as {session().name} sees it.</span>
        </div>
      )}
      <Suspense fallback={null}>{shown && <RecordDialog line={shown} onClose={() => go({ record: undefined })} />}</Suspense>
    </>
  )
}
