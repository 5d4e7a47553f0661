import { toJsonString } from '@bufbuild/protobuf'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Download, ListChecks } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { ReadinessReport } from './ReadinessReport'
import styles from './ReadinessTab.module.css'
import { quote } from './install'
import { nextMinor } from './readiness'
import { useCluster } from './useCluster'
import { useCall } from '#/api/call'
import { type Cluster, Clusters } from '#/api/gen/hub/v1/hub_pb'
import { type ReadinessResponse, ReadinessResponseSchema } from '#/api/gen/hub/v1/readiness_pb'
import { type Search, textOf } from '#/app/search'
import { Button } from '#/ds/Button'
import { Command } from '#/ds/Copy'
import { TextField } from '#/ds/Form'
import { Panel } from '#/ds/Panel'
import { SkeletonLines } from '#/ds/Skeleton'
import { ErrorPanel } from '#/ds/State'

// The version is in the address, so that a link shows the same question.
export function Page() {
  const { data: cluster } = useCluster()
  return cluster ? <Readiness key={cluster.id} cluster={cluster} /> : null
}

function Readiness({ cluster: { name, kubernetesVersion } }: { cluster: Pick<Cluster, 'name' | 'kubernetesVersion'> }) {
  const to = textOf((useSearch({ strict: false }) as Search)['to'])
  const navigate = useNavigate()
  const [typed, setTyped] = useState(to || nextMinor(kubernetesVersion))
  // The agent looks through the cluster: only when it is asked to.
  const { data, error, isFetching, refetch } = useCall(Clusters.method.readiness, { name, to }, { enabled: to !== '', staleTime: Infinity, retry: false })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const version = typed.trim()
    if (version === to) void refetch()
    else if (version) void navigate({ to: '.', search: { to: version } } as never)
  }
  return (
    <div className={styles.page}>
      <Panel title="Is it ready for a version of Kubernetes?">
        <div className={styles.page}>
          <form className={styles.ask} onSubmit={submit}>
            <TextField label="Version" value={typed} onChange={setTyped} placeholder="1.37" autoComplete="off" spellCheck={false} hint={kubernetesVersion ? `The cluster has ${kubernetesVersion}.` : 'Such as 1.37 or 1.37.2.'} />
            <div className={styles.buttons}>
              <Button variant="primary" type="submit" icon={ListChecks} busy={isFetching} disabled={!typed.trim()}>
                {to && typed.trim() === to ? 'Check again' : 'Check'}
              </Button>
              {data && (
                <Button icon={Download} onClick={() => download(data)}>
                  JSON
                </Button>
              )}
            </div>
          </form>
          <p>The agent looks for API versions that the version removes (in the objects of services, in releases of Helm, and among what clients request), for PodDisruptionBudgets that let no pod go, and for nodes that are too old. It changes nothing.</p>
          <Command command={`axle clusters readiness ${quote(name)} --to ${quote(typed.trim() || 'VERSION')} -o json`} />
        </div>
      </Panel>
      {error && !isFetching && <ErrorPanel title={`Can't check ${name} for ${to}`} error={error} retry={() => void refetch()} />}
      {isFetching && !data && (
        <Panel title="Result">
          <SkeletonLines lines={6} />
        </Panel>
      )}
      {data && <ReadinessReport report={data} />}
    </div>
  )
}

// download gives the report as axle clusters readiness -o json prints it.
function download(report: ReadinessResponse) {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([toJsonString(ReadinessResponseSchema, report, { prettySpaces: 2 })], { type: 'application/json' }))
  link.download = `readiness-${report.cluster}-${report.to}.json`
  link.click()
  URL.revokeObjectURL(link.href)
}
