import { Download, Link2, RotateCw } from 'lucide-react'
import { useEffect, useMemo, useState } from 'react'
import { KubeError } from '../kube/KubeError'
import type { Place } from '../kube/calls'
import type { KubeObject } from '../kube/object'
import { useParameter } from '../list/scope'
import { whyEmpty } from '../object/state'
import { containersOf, defaultContainer, usePods } from '../object/usePods'
import { LogView } from './LogView'
import { linesAround, linkOf, rangeOf } from './around'
import { type RangeRequest, useRange } from './useRange'
import styles from './Logs.module.css'
import { capacity, regexOf } from './buffer'
import { type Level, type Line, levels } from './line'
import { type Range, type Source, useTails } from './useTails'
import { save } from '../object/save'
import { useKeys } from '#/app/useKeys'
import { Button } from '#/ds/Button'
import { Checkbox, Select, TextField } from '#/ds/Form'
import { SkeletonLines } from '#/ds/Skeleton'
import { Empty } from '#/ds/State'
import { count, many } from '#/ds/Text'
import { useTicking } from '#/status/Age'
import { ageOf } from '#/status/age'

const ranges: Record<string, { label: string; range: Range }> = {
  '': { label: 'Last 1,000 lines', range: { tailLines: 1_000, sinceSeconds: 0 } },
  '5m': { label: 'Last 5 minutes', range: { tailLines: capacity, sinceSeconds: 300 } },
  '1h': { label: 'Last hour', range: { tailLines: capacity, sinceSeconds: 3_600 } },
  '24h': { label: 'Last 24 hours', range: { tailLines: capacity, sinceSeconds: 86_400 } },
  all: { label: `Last ${count(capacity)} lines`, range: { tailLines: capacity, sinceSeconds: 0 } },
}

// More containers at once are no help to a reader, and cost a stream each.
const maxPods = 10
const maxSources = 20

export function LogsTab({ place, object }: { place: Place; object: KubeObject }) {
  const { pods, more, error, loading, refetch } = usePods(place, object)
  if (error) return <KubeError title="Can't list its pods" error={error} retry={() => void refetch()} />
  if (loading) return <SkeletonLines lines={8} />
  if (pods.length === 0) return <Empty title="No pods, so no logs">{object.kind === 'CronJob' ? 'Its jobs have no pods any more, or none ran yet.' : 'Nothing runs: it is scaled to 0, or its pods could not be created. Its events say why.'}</Empty>
  return <Logs place={place} object={object} pods={pods} more={more} own={object.kind === 'Pod'} />
}

function Logs({ place, object, pods, more, own }: { place: Place; object: KubeObject; pods: KubeObject[]; more: boolean; own: boolean }) {
  const [from, setFrom] = useParameter('from')
  const [to, setTo] = useParameter('to')
  const [around, setAround] = useState<Line>()
  const [podText, setPods] = useParameter('pods')
  const [containerText, setContainers] = useParameter('c')
  const [since, setSince] = useParameter('since')
  const [previousText, setPrevious] = useParameter('previous')
  const [match, setMatch] = useParameter('f')
  const [not, setNot] = useParameter('not')
  const [levelText, setLevels] = useParameter('level')
  const [wrapText, setWrap] = useParameter('wrap')
  const [timesText, setTimes] = useParameter('times')
  const previous = previousText === '1'
  const wrap = wrapText === '1'
  const times = timesText !== '0'

  const names = pods.map((p) => p.metadata.name)
  const wantedPods = podText ? podText.split(',').filter((n) => names.includes(n)) : names.slice(0, maxPods)
  const allContainers = [...new Set(pods.flatMap(containersOf))]
  const containers = containerText ? containerText.split(',').filter((c) => allContainers.includes(c)) : allContainers
  const all: Source[] = pods.filter((p) => wantedPods.includes(p.metadata.name)).flatMap((p) => containersOf(p).filter((c) => containers.includes(c)).map((container) => ({ pod: p.metadata.name, container })))
  const { range } = ranges[since] ?? ranges['']!
  const fixed = rangeOf(from, to)
  const request: RangeRequest | undefined = fixed && {
    cluster: place.cluster,
    namespace: place.namespace ?? '',
    kind: object.kind ?? '',
    name: object.metadata.name,
    pods: podText ? wantedPods : [],
    containers: containerText ? containers : [],
    previous,
    ...fixed,
  }
  const live = useTails({ cluster: place.cluster, namespace: place.namespace ?? '' }, fixed ? [] : all.slice(0, maxSources), { previous, range })
  const ranged = useRange(request)
  const sources = fixed ? ranged.sources : all.slice(0, maxSources)
  const { buffer, version, states, retry } = fixed ? ranged : live

  useKeys('Logs', [{ keys: 'p', does: 'the previous run, or this one', run: () => setPrevious(previous ? '' : '1') }])
  const chosen = useMemo(() => new Set<Level>(levelText ? (levelText.split(',') as Level[]) : levels), [levelText])
  const wanted = regexOf(match)
  const excluded = regexOf(not)
  const [, bump] = useState(0)
  useEffect(() => {
    buffer.setFilter({ match: regexOf(match).regex, not: regexOf(not).regex, levels: chosen, sources: new Set(sources.map((_, i) => i)) })
    bump((n) => n + 1)
    // oxlint-disable-next-line react/exhaustive-deps -- the number of sources is what changes of them within a buffer
  }, [buffer, match, not, chosen, sources.length])

  const labels = sources.map((s) => (own ? s.container : allContainers.length > 1 ? `${short(s.pod)} ${s.container}` : short(s.pod)))
  const toggle = (list: string[], item: string, whole: string[], set: (text: string) => void) => {
    const next = list.includes(item) ? list.filter((x) => x !== item) : whole.filter((x) => x === item || list.includes(x))
    set(next.length === whole.length || next.length === 0 ? '' : next.join(','))
  }
  const failed = states.find((s) => s.error)
  const read = states.length > 0 && states.every((s) => s.word !== 'reading')
  const empty = buffer.size === 0 && read
  const filename = `${sources[0]?.pod ?? 'logs'}${sources.length > 1 ? `-and-${sources.length - 1}-more` : ''}.log`
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
          <Select label="Range" value={fixed ? 'fixed' : since} onChange={(value) => {
              if (value === 'fixed') return
              setFrom('')
              setTo('')
              setSince(value)
            }} options={[...(fixed ? [{ value: 'fixed', label: `${utc(from)} – ${utc(to)}` }] : []), ...Object.entries(ranges).map(([value, { label }]) => ({ value, label }))]} />
        </div>
        <Checkbox label="Previous run" checked={previous} onChange={(on) => setPrevious(on ? '1' : '')} />
        <Checkbox label="Wrap" checked={wrap} onChange={(on) => setWrap(on ? '1' : '')} />
        <Checkbox label="Times" checked={times} onChange={(on) => setTimes(on ? '' : '0')} />
        {!fixed && (
          <Button
            icon={Link2}
            disabled={buffer.visible().length === 0}
            onClick={() => {
              const times = linkOf(buffer.visible())
              if (!times) return
              setFrom(times.from)
              setTo(times.to)
            }}
          >
            Keep this range
          </Button>
        )}
        <Button icon={Download} disabled={buffer.size === 0} onClick={() => save(`${buffer.visible().map((l) => `${l.time} ${labels[l.source]} ${l.text}`).join('\n')}\n`, filename, 'text/plain')}>
          Download
        </Button>
      </div>
      <fieldset className={styles.chips} aria-label="Levels">
        {levels.map((level) => (
          <button key={level} type="button" className={styles.chip} aria-pressed={chosen.has(level)} onClick={() => toggle([...chosen], level, levels, setLevels)}>
            {level} {count(buffer.countOf(level))}
          </button>
        ))}
      </fieldset>
      {(allContainers.length > 1 || names.length > 1) && (
        <fieldset className={styles.chips} aria-label="Sources">
          {allContainers.length > 1 &&
            allContainers.map((c) => (
              <button key={c} type="button" className={styles.chip} aria-pressed={containers.includes(c)} onClick={() => toggle(containers, c, allContainers, setContainers)}>
                {own && <i style={{ '--hue': String((Math.max(0, sources.findIndex((s) => s.container === c)) * 137) % 360) } as React.CSSProperties} />}
                <span>{c}</span>
              </button>
            ))}
          {names.length > 1 &&
            names.slice(0, 30).map((n) => (
              <button key={n} type="button" className={styles.chip} aria-pressed={wantedPods.includes(n)} onClick={() => toggle(wantedPods, n, names, setPods)} title={n}>
                <span>{short(n)}</span>
              </button>
            ))}
        </fieldset>
      )}
      {failed?.error !== undefined && <KubeError title={failed.word === 'failed' ? "Can't read this log" : 'The log stream broke and is opened again'} error={failed.error} retry={retry} />}
      {empty ? (
        <Empty title="No lines" actions={<Button icon={RotateCw} onClick={retry}>Read again</Button>}>
          {sources.slice(0, 5).map((s) => {
            const pod = pods.find((p) => p.metadata.name === s.pod)
            return (
              <p key={`${s.pod} ${s.container}`} className={styles.why}>
                {pod && whyEmpty(pod, s.container, previous)}
              </p>
            )
          })}
        </Empty>
      ) : (
        <LogView label={`Log of ${labels.join(', ') || (defaultContainer(pods[0]!) ?? '')}`} lines={buffer.visible()} version={version} names={labels} wrap={wrap} times={times} onContext={match || not ? setAround : undefined} />
      )}
      {around && (
        <section className={styles.around} aria-label="Lines around a match">
          <p className={styles.foot}>
            <span>What {labels[around.source]} wrote around {around.time.slice(11, 23)} UTC</span>
            <Button onClick={() => setAround(undefined)}>Close</Button>
          </p>
          <LogView label="Lines around a match" lines={linesAround(buffer.all(), around)} version={around.id} names={labels} wrap={wrap} times={times} still={around.id} />
        </section>
      )}
      <Foot
        states={states}
        text={[
          fixed ? 'times in UTC' : '',
          ...(fixed ? ranged.notices : []),
          `${many(buffer.visible().length, 'line')}${buffer.visible().length === buffer.size ? '' : ` of ${count(buffer.size)}`}`,
          buffer.dropped ? `${count(buffer.dropped)} older ones fell out: at most ${count(capacity)} are kept` : '',
          !fixed && all.length > sources.length ? `${sources.length} of ${all.length} containers: choose fewer pods for the others` : '',
          !fixed && !podText && names.length > maxPods ? `the ${maxPods} newest of ${names.length}${more ? ' or more' : ''} pods: choose others above` : '',
        ]}
        previous={previous}
        fixed={fixed !== undefined}
      />
    </div>
  )
}

const utc = (time: string) => new Date(time).toISOString().slice(5, 19).replace('T', ' ')

function Foot({ states, text, previous, fixed }: { states: ReturnType<typeof useTails>['states']; text: string[]; previous: boolean; fixed: boolean }) {
  const heard = Math.max(0, ...states.map((s) => s.heard))
  const age = useTicking(() => (heard ? ageOf(heard, Date.now()) : ''))
  const words = new Set(states.map((s) => s.word))
  const state = fixed
    ? words.has('ended')
      ? 'the whole range'
      : words.has('failed')
        ? 'not read to its end'
        : 'reading'
    : previous
    ? 'previous run'
    : words.has('following')
      ? words.has('polling')
        ? 'following some, reading others every 3 s: the browser’s connections are used'
        : 'following'
      : words.has('polling')
        ? 'read every 3 s: the browser’s connections are used'
        : words.has('waiting')
          ? 'waiting for the container'
          : words.has('ended')
          ? 'ended: the container stopped'
          : words.has('failed')
            ? 'not following'
            : 'reading'
  return (
    <p className={styles.foot}>
      {[...text.filter(Boolean), state, age && !previous ? `last heard ${age === 'now' ? 'now' : `${age} ago`}` : ''].filter(Boolean).map((t) => (
        <span key={t}>{t}</span>
      ))}
    </p>
  )
}

// short is the end of a pod's name, which tells pods of one workload apart.
function short(pod: string): string {
  const parts = pod.split('-')
  return parts.length > 2 ? `…${parts.slice(-2).join('-')}` : pod
}
