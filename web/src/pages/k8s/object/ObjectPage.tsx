import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { Lock } from 'lucide-react'
import { Suspense, lazy, useEffect, useRef } from 'react'
import kube from '../kube/Kube.module.css'
import { KubeError } from '../kube/KubeError'
import { LiveGate } from '../kube/LiveGate'
import { LiveState } from '../kube/LiveState'
import { refusalOf } from '../kube/errors'
import { formatGVR, listPath, noNamespace, objectPath, parseGVR, type GVR } from '../kube/gvr'
import { ownerOf } from '../kube/object'
import { resourceOf } from '../kube/kinds'
import { originsOf, serviceOf } from '../kube/origin'
import { useKubeTitle } from '../kube/useKubeTitle'
import { useObject } from '../kube/useObject'
import { ObjectActions } from './Actions'
import styles from './Object.module.css'
import { Summary } from './Summary'
import { statusOf } from './state'
import { tabsFor } from './tabs'
import { servicePath, useService } from './useService'
import { useKeys } from '#/app/useKeys'
import { Crumbs } from '#/ds/Crumbs'
import { SkeletonLines } from '#/ds/Skeleton'
import { Banner, Empty } from '#/ds/State'
import { Hash } from '#/ds/Text'
import { Status } from '#/status/Status'

const YamlTab = lazy(() => import('./YamlTab').then((m) => ({ default: m.YamlTab })))
const EventsTab = lazy(() => import('./EventsTab').then((m) => ({ default: m.EventsTab })))
const MetricsTab = lazy(() => import('#/pages/metrics/ObjectMetrics').then((m) => ({ default: m.ObjectMetrics })))
const LogsTab = lazy(() => import('../logs/LogsTab').then((m) => ({ default: m.LogsTab })))
const ExecTab = lazy(() => import('../exec/ExecTab').then((m) => ({ default: m.ExecTab })))
const RelatedTab = lazy(() => import('./RelatedTab').then((m) => ({ default: m.RelatedTab })))

export function Page() {
  const { cluster = '', gvr: text = '', ns = '', name = '', tab = 'summary' } = useParams({ strict: false }) as Record<string, string | undefined>
  const gvr = parseGVR(text)
  if (!gvr) return <Empty title={`“${text}” is no kind of objects`}>An address names a kind as kubectl does: pods.v1, deployments.v1.apps.</Empty>
  return (
    <LiveGate>
      <ObjectView key={`${cluster} ${text} ${ns} ${name}`} cluster={cluster} gvr={gvr} namespace={ns === noNamespace ? '' : ns} name={name} tab={tab} />
    </LiveGate>
  )
}

function ObjectView({ cluster, gvr, namespace, name, tab }: { cluster: string; gvr: GVR; namespace: string; name: string; tab: string }) {
  const navigate = useNavigate()
  const place = { cluster, gvr, namespace }
  const { data: object, error, refetch, live, deleted } = useObject(place, name)
  const tabs = tabsFor(gvr.group, gvr.resource)
  const current = tabs.find((t) => t.id === tab) ?? tabs[0]!
  const heading = useRef<HTMLHeadingElement>(null)
  useKubeTitle(`${name}: ${current.label} · ${cluster}`)
  useEffect(() => {
    if (document.activeElement === document.body || document.activeElement?.closest('[data-shell="nav"]')) heading.current?.focus({ preventScroll: true })
  }, [])
  const strip = useRef<HTMLElement>(null)
  useEffect(() => {
    const now = strip.current?.querySelector<HTMLElement>('[aria-current]')
    if (now && strip.current) strip.current.scrollLeft = now.offsetLeft - strip.current.clientWidth / 2 + now.clientWidth / 2
  }, [current.id])
  const go = (id: string) => void navigate({ to: objectPath(cluster, gvr, namespace, name, id) })
  useKeys(
    'Object',
    tabs.map((t) => ({ keys: t.keys, does: t.label.toLowerCase(), run: () => go(t.id) })),
  )
  const kind = object?.kind ?? gvr.resource
  const state = object && statusOf(object)
  return (
    <>
      <header className={styles.header}>
        <Crumbs
          label="Where the object is"
          items={[
            { label: kind, to: listPath(cluster, gvr) },
            ...(namespace ? [{ label: namespace, to: `/clusters/${encodeURIComponent(cluster)}/k8s/namespaces.v1/${noNamespace}/${encodeURIComponent(namespace)}/summary` }] : []),
          ]}
        />
        <div className={styles.row}>
          <div className={kube.heading}>
            <h2 ref={heading} tabIndex={-1} title={formatGVR(gvr)}>
              {name}
            </h2>
            {state && <Status word={deleted ? 'Missing' : state.word} label={deleted ? 'Deleted' : state.label} title={state.title} chip />}
            <LiveState live={live} />
          </div>
          {object && !deleted && (
            <div className={styles.actions}>
              <ObjectActions place={place} object={object} />
            </div>
          )}
        </div>
        {object && <Chain cluster={cluster} object={object} />}
        <nav ref={strip} aria-label="Object" className={styles.tabs} data-shell="nav">
          {tabs.map((t) => (
            <Link key={t.id} to={objectPath(cluster, gvr, namespace, name, t.id) as string} className={styles.tab ?? ''} aria-current={t === current ? 'page' : undefined}>
              {t.label}
              <kbd aria-hidden>{t.keys}</kbd>
            </Link>
          ))}
        </nav>
      </header>
      {deleted && <Banner tone="warn">This object was deleted. Its last state is shown.</Banner>}
      {object?.metadata.deletionTimestamp && !deleted && (
        <Banner tone="busy" icon={Lock}>
          It is being deleted.{object.metadata.finalizers?.length ? ` It waits for: ${object.metadata.finalizers.join(', ')}.` : ''}
        </Banner>
      )}
      {error && !object ? (
        <>
          <KubeError title={`Can't read ${kind} ${name}`} error={error} retry={() => void refetch()} />
          {refusalOf(error) === 'missing' && (
            <p className={styles.inline}>
              It may have been deleted or renamed. <Link to={`${listPath(cluster, gvr)}?q=${encodeURIComponent(name.split('-')[0]!)}` as string}>Look for names like it</Link>.
            </p>
          )}
        </>
      ) : !object ? (
        <SkeletonLines lines={8} />
      ) : (
        <Suspense fallback={<SkeletonLines lines={8} />}>
          {current.id === 'summary' && <Summary place={place} object={object} />}
          {current.id === 'yaml' && <YamlTab place={place} object={object} deleted={deleted} />}
          {current.id === 'events' && <EventsTab place={place} object={object} />}
          {current.id === 'metrics' && <MetricsTab place={place} object={object} />}
          {current.id === 'logs' && <LogsTab place={place} object={object} />}
          {current.id === 'exec' && <ExecTab place={place} object={object} />}
          {current.id === 'related' && <RelatedTab place={place} object={object} />}
        </Suspense>
      )}
    </>
  )
}

// Chain is who made the object: its owner, and the service with its commit.
function Chain({ cluster, object }: { cluster: string; object: NonNullable<ReturnType<typeof useObject>['data']> }) {
  const owner = ownerOf(object)
  const service = useService(cluster, serviceOf(object))
  const others = originsOf(object).filter((o) => o.tool !== 'Axle' && o.tool !== 'owner')
  if (!owner && !service && others.length === 0) return null
  return (
    <p className={styles.chain}>
      {owner && (
        <>
          owned by <Link to={objectPath(cluster, resourceOf(owner.apiVersion, owner.kind), object.metadata.namespace ?? '', owner.name) as string}>{`${owner.kind} ${owner.name}`}</Link>
        </>
      )}
      {service && (
        <>
          delivered by service <Link to={servicePath(cluster, service.name) as string}>{service.name}</Link> at <Hash revision={service.appliedRevision || service.desiredRevision} />
          {service.commitMessage && <span className={kube.muted}>{service.commitMessage.split('\n')[0]}</span>}
        </>
      )}
      {others.map((o) => (
        <span key={o.tool}>
          written by {o.tool} {o.id}
        </span>
      ))}
    </p>
  )
}
