import { Link } from '@tanstack/react-router'
import { Link2, RotateCw } from 'lucide-react'
import { useMemo, useState } from 'react'
import { KubeError } from '../kube/KubeError'
import type { Place } from '../kube/calls'
import type { KubeObject } from '../kube/object'
import { useChange, useParameter } from '../list/scope'
import { whyEmpty } from '../object/state'
import { containersOf, usePods } from '../object/usePods'
import { LogPane, toggled, useLook } from './LogPane'
import { LogView } from './LogView'
import styles from './Logs.module.css'
import { linesAround, linkOf, rangeOf, utc } from './around'
import { capacity, regexOf } from './buffer'
import type { Line } from './line'
import { storeHref, useTailsOf } from './saved'
import { type LogRequest, useLog } from './useLog'
import { useKeys } from '#/app/useKeys'
import { Button } from '#/ds/Button'
import { Checkbox, Select, TextField } from '#/ds/Form'
import { SkeletonLines } from '#/ds/Skeleton'
import { Empty } from '#/ds/State'
import { count } from '#/ds/Text'

const ranges: Record<string, { label: string; tail: number; seconds?: number }> = {
  '': { label: 'Last 1,000 lines', tail: 1_000 },
  '5m': { label: 'Last 5 minutes', tail: capacity, seconds: 300 },
  '1h': { label: 'Last hour', tail: capacity, seconds: 3_600 },
  '24h': { label: 'Last 24 hours', tail: capacity, seconds: 86_400 },
  all: { label: `Last ${count(capacity)} lines`, tail: capacity },
}

// A number of lines stands in the address as n500, as a LogTail has it.
function rangeNamed(text: string) {
  const lines = Number(/^n(\d{1,5})$/.exec(text)?.[1] ?? 0)
  return lines > 0 ? { label: `Last ${count(Math.min(lines, capacity))} lines`, tail: Math.min(lines, capacity) } : (ranges[text] ?? ranges['']!)
}

export function LogsTab({ place, object }: { place: Place; object: KubeObject }) {
  const { pods, error, loading, refetch } = usePods(place, object)
  if (error) return <KubeError title="Can't list its pods" error={error} retry={() => void refetch()} />
  if (loading) return <SkeletonLines lines={8} />
  if (pods.length === 0)
    return (
      <Empty title="No pods, so no logs">
        {object.kind === 'CronJob' ? 'Its jobs have no pods any more, or none ran yet.' : 'Nothing runs: it is scaled to 0, or its pods could not be created. Its events show the reason.'}
        {' '}
        <Link to={storeHref(place, object) as string}>A store may have the logs of pods that are gone.</Link>
      </Empty>
    )
  return <Logs place={place} object={object} pods={pods} own={object.kind === 'Pod'} />
}

function Logs({ place, object, pods, own }: { place: Place; object: KubeObject; pods: KubeObject[]; own: boolean }) {
  const change = useChange()
  const [from] = useParameter('from')
  const [to] = useParameter('to')
  const [around, setAround] = useState<Line>()
  const [podText, setPods] = useParameter('pods')
  const [containerText, setContainers] = useParameter('c')
  const [since] = useParameter('since')
  const [previousText, setPrevious] = useParameter('previous')
  const [followText, setFollow] = useParameter('follow')
  const [match, setMatch] = useParameter('f')
  const [not, setNot] = useParameter('not')
  const { wrap, times, setWrap, setTimes } = useLook()
  const previous = previousText === '1'
  const fixed = rangeOf(from, to)
  const follow = !previous && !fixed && followText !== '0'

  const names = pods.map((p) => p.metadata.name)
  const allContainers = [...new Set(pods.flatMap(containersOf))]
  const wantedPods = podText ? podText.split(',').filter((n) => names.includes(n)) : names
  const containers = containerText ? containerText.split(',').filter((c) => allContainers.includes(c)) : allContainers
  const range = rangeNamed(since)
  // The beginning stays while lines come.
  const [opened, setOpened] = useState(() => Date.now())
  const begins = range.seconds ? BigInt(opened - range.seconds * 1_000) * 1_000n : 0n
  const request: LogRequest = {
    cluster: place.cluster,
    namespace: place.namespace ?? '',
    kind: object.kind ?? '',
    name: object.metadata.name,
    // Chosen ones that are gone are not replaced by all: the hub reports that they are not there.
    pods: podText ? podText.split(',') : [],
    containers: containerText ? containerText.split(',') : [],
    previous,
    follow,
    ...(fixed ?? { since: begins, tailLines: BigInt(range.tail) }),
  }
  const log = useLog(request)
  const { buffer, state, sources, retry } = log
  const tails = useTailsOf(place, object)

  useKeys('Logs', [{ keys: 'p', does: 'the previous run, or this one', run: () => setPrevious(previous ? '' : '1') }])
  const wanted = useMemo(() => regexOf(match), [match])
  const excluded = useMemo(() => regexOf(not), [not])
  const several = new Set(sources.map((s) => s.container)).size > 1
  const labelOf = (s: { pod: string; container: string }) => (own ? s.container : several ? `${short(s.pod)} ${s.container}` : short(s.pod))
  const read = sources.length > 0 ? sources : pods.flatMap((p) => containersOf(p).map((container) => ({ pod: p.metadata.name, container })))
  return (
    <div className={styles.panel}>
      <div className={styles.bar} role="search">
        <div className={styles.grow}>
          <TextField label="Show lines with" type="search" placeholder="regular expression" value={match} onChange={setMatch} problem={wanted.problem} spellCheck={false} />
        </div>
        <div className={styles.grow}>
          <TextField label="Hide lines with" type="search" placeholder="regular expression" value={not} onChange={setNot} problem={excluded.problem} spellCheck={false} />
        </div>
        <div className={styles.select}>
          <Select
            label="Range"
            value={fixed ? 'fixed' : since}
            onChange={(value) => {
              if (value === 'fixed') return
              change({ from: '', to: '', since: value })
              setOpened(Date.now())
            }}
            options={[
              ...(fixed ? [{ value: 'fixed', label: `${utc(from)} – ${utc(to)}` }] : []),
              ...(since in ranges ? [] : [{ value: since, label: range.label }]),
              ...Object.entries(ranges).map(([value, { label }]) => ({ value, label })),
            ]}
          />
        </div>
        <Checkbox label="Previous run" checked={previous} onChange={(on) => setPrevious(on ? '1' : '')} />
        {!fixed && !previous && <Checkbox label="Follow" checked={follow} onChange={(on) => setFollow(on ? '' : '0')} />}
        <Checkbox label="Wrap" checked={wrap} onChange={setWrap} />
        <Checkbox label="Times" checked={times} onChange={setTimes} />
        {!fixed && (
          <Button
            icon={Link2}
            disabled={buffer.visible().length === 0}
            onClick={() => {
              const kept = linkOf(buffer.visible())
              if (kept) change(kept)
            }}
          >
            Keep this range
          </Button>
        )}
      </div>
      {(allContainers.length > 1 || names.length > 1) && (
        <fieldset className={styles.chips} aria-label="Sources">
          {allContainers.length > 1 &&
            allContainers.map((c) => (
              <button key={c} type="button" className={styles.chip} aria-pressed={containers.includes(c)} onClick={() => setContainers(toggled(containers, c, allContainers))}>
                {own && <i style={{ '--hue': String((Math.max(0, sources.findIndex((s) => s.container === c)) * 137) % 360) } as React.CSSProperties} />}
                <span>{c}</span>
              </button>
            ))}
          {names.length > 1 &&
            names.slice(0, 30).map((n) => (
              <button key={n} type="button" className={styles.chip} aria-pressed={wantedPods.includes(n)} onClick={() => setPods(toggled(wantedPods, n, names))} title={n}>
                <span>{short(n)}</span>
              </button>
            ))}
        </fieldset>
      )}
      {state.error !== undefined && <KubeError title={state.word === 'failed' ? "Can't read this log" : 'The log stream broke and is opened again'} error={state.error} retry={retry} />}
      <LogPane
        log={log}
        name={object.metadata.name}
        labelOf={labelOf}
        match={wanted.regex}
        not={excluded.regex}
        onContext={match || not ? setAround : undefined}
        grows={follow}
        ended={fixed ? 'the whole range' : previous ? 'previous run' : follow ? 'ended: nothing runs any more' : 'read to its end'}
        foot={[fixed && 'times in UTC']}
        empty={
          <Empty
            title="No lines"
            actions={
              <Button icon={RotateCw} onClick={retry}>
                Read again
              </Button>
            }
          >
            {read.slice(0, 5).map((s) => {
              const pod = pods.find((p) => p.metadata.name === s.pod)
              return (
                <p key={`${s.pod} ${s.container}`} className={styles.why}>
                  {pod && whyEmpty(pod, s.container, previous)}
                </p>
              )
            })}
          </Empty>
        }
      />
      <p className={styles.foot}>
        <Link to={storeHref(place, object) as string}>Search a store of logs</Link>
        {tails.map((t) => (
          <Link key={t.name} to={t.href as string} title={`LogTail ${t.namespace}/${t.name}`}>
            Tail {t.name}
          </Link>
        ))}
      </p>
      {around && (
        <section className={styles.around} aria-label="Lines around a match">
          <p className={styles.foot}>
            <span>
              Lines of {sources[around.source] ? labelOf(sources[around.source]!) : ''} around {around.time.slice(11, 23)} UTC
            </span>
            <Button onClick={() => setAround(undefined)}>Close</Button>
          </p>
          <LogView label="Lines around a match" lines={linesAround(buffer.all(), around)} version={around.id} names={sources.map(labelOf)} wrap={wrap} times={times} still={around.id} />
        </section>
      )}
    </div>
  )
}

// short is the end of a pod's name, which tells pods of one workload apart.
function short(pod: string): string {
  const parts = pod.split('-')
  return parts.length > 2 ? `…${parts.slice(-2).join('-')}` : pod
}
