import { Link, useSearch } from '@tanstack/react-router'
import { Link2, RotateCw, Search as SearchIcon, X } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { KubeError } from '../kube/KubeError'
import { LiveGate } from '../kube/LiveGate'
import { useChange } from '../list/scope'
import { LogPane, useLook } from './LogPane'
import { LogView } from './LogView'
import styles from './Logs.module.css'
import { linkOf, utc } from './around'
import type { Line } from './line'
import { useFilters, useTails } from './saved'
import { type StoreQuery, fields, requestOf, usualLast } from './store'
import { type Source, useLog } from './useLog'
import { useCall } from '#/api/call'
import { Observability } from '#/api/gen/hub/v1/observe_pb'
import { type Search, textOf } from '#/app/search'
import { Button } from '#/ds/Button'
import { wordsOf } from '#/ds/chart/range'
import { Command } from '#/ds/Copy'
import { Checkbox, Select, TextField } from '#/ds/Form'
import { SkeletonLines } from '#/ds/Skeleton'
import { Empty, ErrorPanel } from '#/ds/State'
import { Muted, count } from '#/ds/Text'
import { useCluster } from '#/pages/clusters/useCluster'
import { Notices } from '#/pages/metrics/Notes'

// Page searches the stores of logs of a cluster.
export function Page() {
  const { data: cluster } = useCluster()
  return cluster ? (
    <LiveGate>
      <Store cluster={cluster.name} />
    </LiveGate>
  ) : null
}

const types = new Set(['victorialogs', 'loki'])

export function Store({ cluster }: { cluster: string }) {
  const { data, error, refetch } = useCall(Observability.method.sources, { cluster }, { staleTime: 30_000 })
  const stores = data?.sources.filter((s) => types.has(s.type))
  return (
    <div className={styles.panel}>
      <h2>Logs</h2>
      {error && !data && <ErrorPanel title="Can't read the stores of this cluster" error={error} retry={() => void refetch()} />}
      {!data && !error && <SkeletonLines lines={6} />}
      {data && <Notices notices={data.notices} namespaces={data.namespaces} />}
      {stores?.length === 0 && (
        <Empty title="No store of logs">
          <p>The agent found no VictoriaLogs or Loki in this cluster by its usual names. The logs of pods need none: open a workload. Connect a store that has another name:</p>
          <Command command={`axle telemetry-sources apply ${cluster}-logs --project default \\\n  --cluster ${cluster} --type victorialogs \\\n  --namespace monitoring --service victoria-logs --port 9428`} />
        </Empty>
      )}
      {stores && stores.length > 0 && <Searched cluster={cluster} stores={stores.map((s) => ({ name: s.name, used: s.used }))} />}
      <Tails cluster={cluster} />
    </div>
  )
}

// Tails are the LogTails that applications brought.
function Tails({ cluster }: { cluster: string }) {
  const tails = useTails(cluster)
  if (tails.length === 0) return null
  return (
    <p className={styles.foot}>
      <span>Saved tails of workloads:</span>
      {tails.map((t) => (
        <Link key={`${t.namespace}/${t.name}`} to={t.href as string}>
          {t.namespace}/{t.name}
        </Link>
      ))}
    </p>
  )
}

function useStoreQuery() {
  const search = useSearch({ strict: false }) as Search
  const put = useChange(true)
  const query = Object.fromEntries(fields.map((f) => [f, textOf(search[f])])) as unknown as StoreQuery
  const change = (some: Partial<StoreQuery>) => put(some as Record<string, string>)
  return [query, change] as const
}

const lasts = ['5m', '15m', '1h', '6h', '1d', '7d', '30d']
const limits = ['1000', '10000', '50000']
const arounds = ['0', '3', '10', '50']
const typed = ['text', 'not', 'query', 'namespace', 'pod', 'container'] as const

function Searched({ cluster, stores }: { cluster: string; stores: { name: string; used: boolean }[] }) {
  const [query, change] = useStoreQuery()
  // A range that ends now is read at a moment, which another click moves.
  const [now, setNow] = useState(() => Date.now())
  const { wrap, times, setWrap, setTimes } = useLook()
  const filters = useFilters(cluster)
  const [around, setAround] = useState<Line>()
  const [open, setOpen] = useState(Boolean(query.pod || query.container || query.around || query.limit))
  const typedNow = Object.fromEntries(typed.map((f) => [f, query[f]])) as Record<(typeof typed)[number], string>
  const [draft, setDraft] = useState(typedNow)
  const [from, setFrom] = useState(typedNow)
  // Another address, by a link or a step back, has other words.
  if (typed.some((f) => from[f] !== typedNow[f])) {
    setFrom(typedNow)
    setDraft(typedNow)
  }
  const source = query.source || (stores.find((s) => s.used) ?? stores[0]!).name
  const asked = { ...query, source }
  const log = useLog(requestOf(cluster, asked, now))
  const { state, retry, sources } = log
  const fixed = Boolean(query.from && query.to)
  const filter = filters.find((f) => f.id === query.filter)
  const submit = (e: FormEvent) => {
    e.preventDefault()
    setNow(Date.now())
    setAround(undefined)
    change(draft)
  }
  const field = (name: (typeof typed)[number]) => ({ value: draft[name], onChange: (value: string) => setDraft({ ...draft, [name]: value }), spellCheck: false })
  const labelOf = (s: Source) => [s.namespace, s.pod, s.container].filter(Boolean).join('/')
  const visible = log.buffer.visible()
  return (
    <>
      <form className={styles.bar} role="search" onSubmit={submit}>
        {stores.length > 1 && (
          <div className={styles.select}>
            <Select label="Store" value={source} options={stores.map((s) => ({ value: s.name, label: s.name }))} onChange={(value) => change({ source: value })} />
          </div>
        )}
        <div className={styles.select}>
          <Select
            label="Range"
            value={fixed ? 'fixed' : query.last || usualLast}
            options={[...(fixed ? [{ value: 'fixed', label: `${utc(query.from)} – ${utc(query.to)}` }] : []), ...lasts.map((l) => ({ value: l, label: `Last ${wordsOf(l).replace(/^1 /, '')}` }))]}
            onChange={(value) => {
              if (value === 'fixed') return
              setNow(Date.now())
              change({ last: value, from: '', to: '' })
            }}
          />
        </div>
        <div className={styles.grow}>
          <TextField label="Lines with" type="search" {...field('text')} />
        </div>
        <div className={styles.grow}>
          <TextField label="Without" type="search" {...field('not')} />
        </div>
        <Checkbox label="Regular expressions" checked={query.regex === '1'} onChange={(on) => change({ ...draft, regex: on ? '1' : '' })} />
        {filters.length > 0 && (
          <div className={styles.select}>
            <Select label="Saved filter" value={query.filter} options={[{ value: '', label: 'none' }, ...filters.map((f) => ({ value: f.id, label: `${f.title} (${f.id.split('/')[0]})` }))]} onChange={(value) => change({ filter: value, ...(value && { query: '', namespace: '', kind: '', name: '' }) })} />
          </div>
        )}
        {!query.filter && (
          <>
            <div className={styles.grow}>
              <TextField label="Namespace" {...field('namespace')} disabled={query.kind !== ''} />
            </div>
            <div className={styles.wide}>
              <TextField label="Matchers and filters" placeholder={'{app="web"} |= "error" != "retry"'} {...field('query')} />
            </div>
          </>
        )}
        <Button type="submit" variant="primary" icon={SearchIcon}>
          Search
        </Button>
        <details className={styles.more} open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
          <summary>Pod, container, lines around</summary>
          <div className={styles.bar}>
            <div className={styles.grow}>
              <TextField label="Pod" {...field('pod')} />
            </div>
            <div className={styles.grow}>
              <TextField label="Container" {...field('container')} />
            </div>
            <div className={styles.select}>
              <Select label="Lines around a match" value={query.around || '0'} options={arounds.map((n) => ({ value: n, label: n === '0' ? 'none' : `${n} before and after` }))} onChange={(value) => change({ around: value === '0' ? '' : value })} />
            </div>
            <div className={styles.select}>
              <Select label="At most" value={query.limit || limits[0]!} options={limits.map((n) => ({ value: n, label: `${count(Number(n))} lines` }))} onChange={(value) => change({ limit: value === limits[0] ? '' : value })} />
            </div>
          </div>
        </details>
      </form>
      <div className={styles.bar}>
        {!fixed && <Checkbox label="Follow" checked={query.follow === '1'} onChange={(on) => change({ follow: on ? '1' : '' })} />}
        <Checkbox label="Wrap" checked={wrap} onChange={setWrap} />
        <Checkbox label="Times" checked={times} onChange={setTimes} />
        {!fixed && (
          <Button icon={Link2} disabled={visible.length === 0} onClick={() => change({ ...linkOf(visible), follow: '' })}>
            Keep this range
          </Button>
        )}
        {query.kind && (
          <Button icon={X} onClick={() => change({ kind: '', name: '' })}>
            Only {query.kind} {query.name}
          </Button>
        )}
      </div>
      {filter && (
        <p className={styles.foot}>
          <code>{filter.query}</code>
          {filter.description && <Muted>{filter.description}</Muted>}
        </p>
      )}
      {state.error !== undefined && <KubeError title={state.word === 'failed' ? "Can't search the store" : 'The log stream broke and is opened again'} error={state.error} retry={retry} />}
      <LogPane
        log={log}
        name={source}
        labelOf={labelOf}
        onContext={setAround}
        named
        grows={query.follow === '1' && !fixed}
        ended="read to its end"
        foot={[`from ${source}`, 'times in UTC']}
        empty={
          state.word === 'failed' ? null : (
            <Empty
              title="No lines"
              actions={
                <Button
                  icon={RotateCw}
                  onClick={() => {
                    setNow(Date.now())
                    retry()
                  }}
                >
                  Search again
                </Button>
              }
            >
              The store has none in this range for what is asked, of namespaces that you may read.
            </Empty>
          )
        }
      />
      {around && sources[around.source] && <Around cluster={cluster} query={asked} line={around} of={sources[around.source]!} label={labelOf(sources[around.source]!)} onClose={() => setAround(undefined)} />}
    </>
  )
}

const minute = 60_000

// Around are all lines of a container about a line that was found, read from the store.
function Around({ cluster, query, line, of, label, onClose }: { cluster: string; query: StoreQuery; line: Line; of: Source; label: string; onClose: () => void }) {
  const at = Date.parse(line.time)
  const iso = (ms: number) => new Date(ms).toISOString()
  const only = Object.fromEntries(fields.map((f) => [f, ''])) as unknown as StoreQuery
  const log = useLog(requestOf(cluster, { ...only, source: query.source, namespace: of.namespace, pod: of.pod, container: of.container, limit: '5000', from: iso(at - minute), to: iso(at + minute) }, at))
  const { wrap, times } = useLook()
  const all = log.buffer.all()
  const here = all.find((l) => l.time === line.time && l.text === line.text)
  return (
    <section className={styles.around} aria-label="Lines around a match">
      <p className={styles.foot}>
        <span>
          Lines of {label} within a minute of {line.time.slice(11, 23)} UTC
        </span>
        <Button onClick={onClose}>Close</Button>
      </p>
      {log.state.error !== undefined && <ErrorPanel title="Can't read what is around it" error={log.state.error} retry={log.retry} />}
      <LogView label="Lines around a match" lines={all} version={log.version} names={[label]} wrap={wrap} times={times} {...(here && { still: here.id })} />
    </section>
  )
}
