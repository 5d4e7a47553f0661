import { useNavigate, useSearch } from '@tanstack/react-router'
import { ChevronRight, ScrollText, Unplug } from 'lucide-react'
import { Suspense, lazy, useEffect, useMemo, useRef, useState } from 'react'
import styles from './tabs.module.css'
import { failingPods } from './failing'
import type { Group } from './graph'
import { type Line, filterOf, linesOf, maxLines, objectHref, podOf, syncOf } from './tree'
import { keyOf, useCall } from '#/api/call'
import { problemOf } from '#/api/errors'
import { Clusters, type Service, Services } from '#/api/gen/hub/v1/hub_pb'
import { type Search, textOf } from '#/app/search'
import { useKeys } from '#/app/useKeys'
import { Button } from '#/ds/Button'
import { Go } from '#/ds/Go'
import { Checkbox, Segmented, TextField } from '#/ds/Form'
import { SkeletonLines } from '#/ds/Skeleton'
import { Banner, Empty } from '#/ds/State'
import { Badge, Muted, many } from '#/ds/Text'
import { useHint } from '#/live/useLive'
import { Age } from '#/status/Age'
import { Status } from '#/status/Status'

const ServiceLastLines = lazy(() => import('./ServiceLastLines').then((m) => ({ default: m.ServiceLastLines })))
const ComponentGraph = lazy(() => import('./ComponentGraph').then((m) => ({ default: m.ComponentGraph })))

// ComponentsTab is the service's objects with what they own in the cluster now.
// Without a tunnel it is what the agent reported.
export function ComponentsTab({ service }: { service: Service }) {
  const ref = { cluster: service.cluster, name: service.name }
  // There is the last report to show, so that nothing is gained by asking again at once.
  const tree = useCall(Services.method.getTree, { ref }, { keep: true, retry: false })
  const [filter, setFilter] = useState('')
  const [problems, setProblems] = useState(false)
  const [chosen, setChosen] = useState<ReadonlyMap<string, boolean>>(new Map())
  const reported = useMemo(() => service.components.map((object) => ({ object, createdAt: 0n, failing: false, children: [] })), [service.components])
  const live = tree.error ? undefined : tree.data
  const nodes = live?.objects ?? reported
  const graph = textOf((useSearch({ strict: false }) as Search)['view']) === 'graph'
  const wants = useMemo(() => filterOf(filter, problems), [filter, problems])
  const lines = useMemo(() => linesOf(nodes, chosen, filter, problems), [nodes, chosen, filter, problems])
  const navigate = useNavigate()
  const setView = (view?: string) => void navigate({ to: '.', search: (old: Search) => ({ ...old, view }), replace: true } as never)
  const field = useRef<HTMLInputElement>(null)
  const openGroup = (group: Group) => {
    setFilter(group.filter || filter)
    setView()
    field.current?.focus()
  }
  const pod = useMemo(() => podOf(nodes), [nodes])
  const failing = useMemo(() => (live ? failingPods(live.objects) : []), [live])
  const openPod = (tab?: string) => pod && void navigate({ to: objectHref(service.cluster, pod, tab) })
  useKeys(
    'Service',
    [
      { keys: 'p', does: 'its pod that fails, or the newest', run: () => openPod() },
      { keys: 'l', does: 'the logs of that pod', run: () => openPod('logs') },
    ],
    pod !== undefined,
  )
  if (nodes.length === 0) {
    return tree.isPending ? <SkeletonLines lines={5} /> : <Empty title="No objects yet">{service.message || 'The agent has not applied anything for this service.'}</Empty>
  }
  return (
    <div className={styles.tab}>
      {tree.error && <NoLiveView service={service} error={tree.error} again={tree.refetch} />}
      {live?.failing && <Banner tone="bad">{live.failing}</Banner>}
      {live?.notes.map((n) => (
        <Banner key={n} tone="idle">
          {n}
        </Banner>
      ))}
      {failing.length > 0 && (
        <Suspense fallback={null}>
          <ServiceLastLines cluster={service.cluster} pods={failing} />
        </Suspense>
      )}
      <div className={styles.tools}>
        <div className={styles.search}>
          <TextField ref={field} label="Filter components" hideLabel type="search" placeholder="Filter by kind or name" value={filter} onChange={setFilter} />
        </div>
        <Checkbox label="Only problems" checked={problems} onChange={setProblems} />
        <Muted>{many(nodes.length, 'object')}</Muted>
        {pod && (
          <Button icon={ScrollText} keys="l" onClick={() => openPod('logs')}>
            Logs
          </Button>
        )}
        <div className={styles.view}>
          <Segmented label="View" value={graph ? 'graph' : 'tree'} options={[{ value: 'tree', label: 'Tree' }, { value: 'graph', label: 'Graph' }]} onChange={(v) => setView(v === 'graph' ? v : undefined)} />
        </div>
      </div>
      {lines.length === 0 ? (
        <Empty title="Nothing matches" />
      ) : graph ? (
        <Suspense fallback={<SkeletonLines lines={5} />}>
          <ComponentGraph service={service} nodes={nodes} wants={wants} onGroup={openGroup} />
        </Suspense>
      ) : (
        <Tree cluster={service.cluster} lines={lines} onToggle={(line) => setChosen((m) => new Map(m).set(line.key, !line.open))} />
      )}
    </div>
  )
}

function Tree({ cluster, lines, onToggle }: { cluster: string; lines: Line[]; onToggle: (line: Line) => void }) {
  return (
    <>
      <div className={styles.scroll}>
        <div role="treegrid" aria-label="Components" className={styles.tree}>
          <div role="row" className={styles.head}>
            <span role="columnheader">Object</span>
            <span role="columnheader">Health</span>
            <span role="columnheader">Synced</span>
            <span role="columnheader">Message</span>
            <span role="columnheader">Age</span>
          </div>
          {lines.slice(0, maxLines).map((line) => (
            <Row key={line.key} cluster={cluster} line={line} onToggle={() => onToggle(line)} />
          ))}
        </div>
      </div>
      {lines.length > maxLines && <p>{many(lines.length - maxLines, 'more object')}; filter to see them.</p>}
    </>
  )
}

// NoLiveView says why, and reads the objects again once the cluster's tunnel is up.
function NoLiveView({ service, error, again }: { service: Service; error: unknown; again: () => unknown }) {
  const name = service.cluster
  useHint(['clusters'], keyOf(Clusters.method.get, { name }))
  const { data: cluster } = useCall(Clusters.method.get, { name })
  const up = cluster?.tunnel === 'Up'
  const since = cluster?.tunnelSince
  useEffect(() => {
    if (up) again()
  }, [up, since, again])
  return (
    <Banner tone="warn" icon={Unplug}>
      <strong>Live view unavailable, deploys go on.</strong> {problemOf(error).message.replace(/\.?$/, '.')} Shown is the last report, <Age at={service.reportedAt} after="ago" />
      {service.health === 'Healthy' ? '.' : ', without the last lines of what fails.'}
    </Banner>
  )
}

function Row({ cluster, line, onToggle }: { cluster: string; line: Line; onToggle: () => void }) {
  const o = line.object
  return (
    <div role="row" aria-level={line.level} aria-expanded={line.open} className={styles.line} data-failing={line.failing || undefined}>
      <span role="gridcell" className={styles.object} style={{ paddingLeft: (line.level - 1) * 20 }}>
        {line.open === undefined ? (
          <span className={styles.twist} />
        ) : (
          <button type="button" className={styles.twist} data-open={line.open || undefined} aria-label={`${line.open ? 'Close' : 'Open'} ${o.kind} ${o.name}: owns ${line.children}`} onClick={onToggle}>
            <ChevronRight size={14} aria-hidden />
          </button>
        )}
        <Badge>{o.kind}</Badge>
        <Go to={objectHref(cluster, o)} className={styles.objectName} title={[o.group, o.version].filter(Boolean).join('/')}>
          {o.namespace && <Muted>{o.namespace}/</Muted>}
          {o.name}
        </Go>
        {line.open === false && <Muted>+{line.children}</Muted>}
      </span>
      <span role="gridcell">{o.health && <Status word={o.health} />}</span>
      <span role="gridcell">
        {line.level === 1 && <Status word={syncOf(o)} />}
      </span>
      <span role="gridcell" className={styles.say} title={o.message}>
        {o.message}
        {o.drift.map((d) => (
          <span key={d.path} className={styles.drift}>
            <code>{d.path}</code> {d.action}
            {d.manager && ` (last written by ${d.manager})`}
          </span>
        ))}
      </span>
      <span role="gridcell">{line.createdAt > 0n && <Age at={line.createdAt} />}</span>
    </div>
  )
}
