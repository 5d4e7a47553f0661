import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Changes } from './Changes'
import styles from './FleetPage.module.css'
import { NeedsYou } from './NeedsYou'
import { FirstSteps } from './FirstSteps'
import { fewCells } from './heat'
import { HeatMapPanel } from './HeatMapPanel'
import { Versions } from './Versions'
import { verdictOf } from './verdict'
import { keyOf, useCall } from '#/api/call'
import { Fleet } from '#/api/gen/hub/v1/fleet_pb'
import { hidden } from '#/api/errors'
import { type Search, textOf } from '#/app/search'
import { ClusterPeek } from '#/pages/clusters/ClusterPeek'
import { PageHeader } from '#/ds/PageHeader'
import { Skeleton } from '#/ds/Skeleton'
import { ErrorPanel } from '#/ds/State'
import { count, many } from '#/ds/Text'
import { useHint } from '#/live/useLive'
import { Age } from '#/status/Age'
import { StatusIcon } from '#/status/Status'
import { countOf, serviceVerdicts } from '#/status/rollup'
import { labelOf } from '#/status/words'

// The fleet in five seconds: must somebody act, where, and on what.
export function Page() {
  const search = useSearch({ strict: false }) as Search
  const navigate = useNavigate()
  const project = textOf(search['project'])
  const summary = useCall(Fleet.method.summary, { project }, { keep: true })
  useHint(['fleet', 'clusters', 'services'], keyOf(Fleet.method.summary), keyOf(Fleet.method.heatMap), keyOf(Fleet.method.needsYou))
  useHint(['events'], keyOf(Fleet.method.recentChanges))
  const data = summary.data
  const verdict = data && verdictOf(data)
  if (hidden(summary.error)) {
    return (
      <>
        <PageHeader title="Fleet" />
        <FirstSteps />
      </>
    )
  }
  const peek = textOf(search['peek'])
  const setPeek = (name: string | undefined) => void navigate({ to: '.', search: (old: Search) => ({ ...old, peek: name }), replace: true } as never)
  return (
    <>
      <PageHeader
        title="Fleet"
        heading={
          <span className={styles.verdict} data-word={summary.error ? 'Unknown' : verdict?.word}>
            {verdict && !summary.error && <StatusIcon word={verdict.word} size={22} />}
            {summary.error ? "Can't read fleet state" : (verdict?.sentence ?? <Skeleton width={420} height={22} />)}
          </span>
        }
      >
        {data && (
          <p className={styles.under}>
            <span>
              {summary.error ? 'last good read ' : 'as of '}
              <Age at={data.at} after="ago" />
            </span>
            {data.services > 0n && (
              <span>
                <Link to="/services">{many(data.services, 'service')}</Link>
                {serviceVerdicts
                  .filter((v) => countOf(data.servicesByVerdict, v) > 0)
                  .map((v) => (
                    <Link key={v} to="/services" search={{ verdict: v } as never} className={styles.part}>
                      <StatusIcon word={v} size={12} /> {count(countOf(data.servicesByVerdict, v))} {labelOf(v)}
                    </Link>
                  ))}
              </span>
            )}
          </p>
        )}
      </PageHeader>
      {summary.error && <ErrorPanel title="Can't read fleet state" error={summary.error} retry={() => void summary.refetch()} />}
      {data && data.clusters === 0n ? (
        <FirstSteps />
      ) : (
        <div className={styles.columns}>
          <div className={styles.main}>
            <HeatMapPanel project={project} most={fewCells} onPeek={setPeek} />
            <Changes project={project} />
          </div>
          <div className={styles.side}>
            <NeedsYou project={project} />
            {data && <Versions title="Kubernetes versions" counts={data.kubernetesVersions} field="kubernetes_version" />}
            {data && <Versions title="Agent versions" counts={data.agentVersions} field="agent_version" />}
          </div>
        </div>
      )}
      {peek && <ClusterPeek name={peek} floating onClose={() => setPeek(undefined)} />}
    </>
  )
}
