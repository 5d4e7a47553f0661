import { Link, useSearch } from '@tanstack/react-router'
import { type ReactNode, Suspense, lazy, useState } from 'react'
import styles from './ServicePage.module.css'
import { Stepper } from './Stepper'
import { type Action, verbs } from './actions'
import { Banners } from './Banners'
import { From } from './columns'
import { useService } from './useService'
import type { Service } from '#/api/gen/hub/v1/hub_pb'
import { type May, useMay } from '#/api/may'
import { type Search, textOf } from '#/app/search'
import { Button } from '#/ds/Button'
import { Crumbs } from '#/ds/Crumbs'
import { MayNot } from '#/ds/Forbidden'
import { ManagedBy } from '#/ds/ManagedBy'
import { PageHeader } from '#/ds/PageHeader'
import { SkeletonLines } from '#/ds/Skeleton'
import { ErrorPanel } from '#/ds/State'
import { TabNav } from '#/ds/TabNav'
import { Hash, Muted, many, person } from '#/ds/Text'
import { Age } from '#/status/Age'
import { rollUp } from '#/status/rollup'
import { Status } from '#/status/Status'

const PlaceLinks = lazy(() => import('#/pages/clusters/Links').then((m) => ({ default: m.PlaceLinks })))
const ServiceAlerts = lazy(() => import('./tabs/ServiceAlerts').then((m) => ({ default: m.ServiceAlerts })))
const ComponentsTab = lazy(() => import('./tabs/ComponentsTab').then((m) => ({ default: m.ComponentsTab })))
const DiffTab = lazy(() => import('./tabs/DiffTab').then((m) => ({ default: m.DiffTab })))
const RevisionsTab = lazy(() => import('./tabs/RevisionsTab').then((m) => ({ default: m.RevisionsTab })))
const ConfigTab = lazy(() => import('./tabs/ConfigTab').then((m) => ({ default: m.ConfigTab })))
const MetricsTab = lazy(() => import('#/pages/metrics/ServiceMetrics').then((m) => ({ default: m.ServiceMetrics })))
const EventsTab = lazy(() => import('./tabs/EventsTab').then((m) => ({ default: m.EventsTab })))
const SingleAction = lazy(() => import('./SingleAction').then((m) => ({ default: m.SingleAction })))

const tabs: { id: string; label: string; render: (s: Service, may: May, onRollback: (to: bigint) => void) => ReactNode }[] = [
  { id: '', label: 'Components', render: (s) => <ComponentsTab service={s} /> },
  { id: 'diff', label: 'Diff', render: (s, may) => <DiffTab service={s} may={may} /> },
  { id: 'revisions', label: 'Revisions', render: (s, may, onRollback) => <RevisionsTab service={s} may={may} onRollback={onRollback} /> },
  { id: 'config', label: 'Config', render: (s) => <ConfigTab service={s} /> },
  { id: 'metrics', label: 'Metrics', render: (s) => <MetricsTab service={s} /> },
  { id: 'events', label: 'Events', render: (s) => <EventsTab service={s} /> },
]

// Why a service is like this, and how to make it right.
export function Page() {
  const { ref, data: service, error, refetch } = useService()
  const may = useMay('write', { cluster: ref.cluster, service: ref.name }, service !== undefined)
  const search = useSearch({ strict: false }) as Search
  const [doing, setDoing] = useState<{ action: Action; revision?: bigint }>()
  const tab = tabs.find((t) => t.id === textOf(search['tab'])) ?? tabs[0]!
  const path = `/services/${encodeURIComponent(ref.cluster)}/${encodeURIComponent(ref.name)}`
  const start = (action: Action) => setDoing({ action })
  return (
    <>
      <PageHeader
        title={tab.id ? `${ref.name}: ${tab.label}` : ref.name}
        heading={ref.name}
        beside={service && <Status word={rollUp(service)} chip />}
        crumbs={<Crumbs items={[{ label: 'Services', to: '/services' }, { label: ref.cluster, to: `/clusters/${encodeURIComponent(ref.cluster)}` }]} />}
        actions={
          service &&
          may.allowed === true && (
            <>
              <Button icon={verbs.sync.icon} onClick={() => start('sync')}>
                Sync
              </Button>
              {service.paused || service.pinnedRevision > 0n ? (
                <Button icon={verbs.resume.icon} onClick={() => start('resume')}>
                  Resume
                </Button>
              ) : (
                <Button icon={verbs.pause.icon} onClick={() => start('pause')}>
                  Pause…
                </Button>
              )}
              <Button icon={verbs.rollback.icon} onClick={() => start('rollback')}>
                Roll back…
              </Button>
            </>
          )
        }
      >
        {service && <Facts service={service} />}
        {service && (
          <Suspense fallback={null}>
            <PlaceLinks cluster={ref.cluster} namespace={service.namespace} service={ref.name} />
          </Suspense>
        )}
        {service && may.allowed === false && <MayNot what="sync, pause or roll back this service" reason={may.reason} />}
      </PageHeader>
      {error && <ErrorPanel title={`Can't read the service ${ref.cluster}/${ref.name}`} error={error} retry={() => void refetch()} />}
      {!service && !error && <SkeletonLines lines={6} />}
      {service && (
        <>
          <Banners service={service} follows={followsOf(service)} onResume={may.allowed === true ? () => start('resume') : undefined} />
          <Stepper service={service} />
          <Warnings service={service} />
          <Suspense fallback={null}>
            <ServiceAlerts service={service} />
          </Suspense>
          <TabNav label="Service" current={tab.label} tabs={tabs.map((t) => ({ label: t.label, to: path, ...(t.id ? { search: { tab: t.id } } : {}) }))} />
          <Suspense fallback={<SkeletonLines lines={6} />}>{tab.render(service, may, (revision) => setDoing({ action: 'rollback', revision }))}</Suspense>
        </>
      )}
      <Suspense fallback={null}>
        {service && doing && <SingleAction key={doing.action} {...doing} target={{ ...ref, follows: followsOf(service) }} onClose={() => setDoing(undefined)} />}
      </Suspense>
    </>
  )
}

function followsOf(s: Service): string {
  return s.sources[0]?.ref || s.sources[0]?.version || ''
}

function Facts({ service: s }: { service: Service }) {
  const dim = s.freshness !== 'Fresh'
  const source = s.sources[0]
  const author = person(s.commitAuthor)
  return (
    <>
      <dl className={styles.facts}>
        <div>
          <dt>Sync</dt>
          <dd>
            <Status word={s.sync} at={s.reportedAt} dim={dim} title={s.reason || undefined} />
          </dd>
        </div>
        <div>
          <dt>Health</dt>
          <dd>
            <Status word={s.health} at={s.reportedAt} dim={dim} />
          </dd>
        </div>
        <div>
          <dt>Freshness</dt>
          <dd>
            <Status word={s.freshness} at={s.polledAt} />
          </dd>
        </div>
        <div>
          <dt>Source</dt>
          <dd>
            {source?.repository ? (
              <Link to="/repositories" search={{ q: source.repository } as never} className={styles.plain}>
                <From of={source} />
              </Link>
            ) : (
              <From of={source} />
            )}{' '}
            <Muted>
              {source?.folder || source?.chart}
              {s.sources.length > 1 && ` and ${many(s.sources.length - 1, 'more source', 'more sources')}`}
            </Muted>
          </dd>
        </div>
        <div>
          <dt>Namespace</dt>
          <dd>{s.namespace}</dd>
        </div>
        {s.managedBy && (
          <div>
            <dt>Managed by</dt>
            <dd>
              <ManagedBy manager={s.managedBy} />
            </dd>
          </div>
        )}
      </dl>
      <p className={styles.revision}>
        desired <Hash revision={s.desiredRevision} />
        {s.commitMessage && <span className={styles.subject}>{s.commitMessage.split('\n')[0]}</span>}
        {author && (
          <Muted>
            by {author} <Age at={s.committedAt} after="ago" />
          </Muted>
        )}
        <Muted>→</Muted> applied <Hash revision={s.appliedRevision} />
      </p>
    </>
  )
}

function Warnings({ service: s }: { service: Service }) {
  const warnings = s.errors.filter((e) => e.warning)
  if (warnings.length === 0 && s.notActing.length === 0) return null
  return (
    <ul className={styles.warnings}>
      {warnings.map((w) => (
        <li key={`${w.source} ${w.message}`}>
          <Status word="Degraded" label="Warning" />
          <span>{w.message}</span>
          <Muted>
            {w.source}, <Age at={w.since} after="ago" />
          </Muted>
        </li>
      ))}
      {s.notActing.length > 0 && (
        <li>
          <Status word="Degraded" label="No effect yet" />
          <span>{s.notActing.join(', ')}</span>
        </li>
      )}
    </ul>
  )
}
