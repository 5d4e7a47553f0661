import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import styles from './Explore.module.css'
import kube from './kube/Kube.module.css'
import { useParams } from '@tanstack/react-router'
import { KubeError } from './kube/KubeError'
import { LiveGate } from './kube/LiveGate'
import { apiVersionOf, formatGVR, listPath } from './kube/gvr'
import { type Kind, areas, builtinKinds } from './kube/kinds'
import { useCustomKinds } from './kube/useKinds'
import { useFilter } from './list/Toolbar'
import { Panel } from '#/ds/Panel'
import { SkeletonLines } from '#/ds/Skeleton'
import { Empty } from '#/ds/State'
import { count, many } from '#/ds/Text'

// Explore: every kind of the cluster, built in and custom.
export function Page() {
  return (
    <LiveGate>
      <Explore />
    </LiveGate>
  )
}

function fits(k: Kind, text: string): boolean {
  const all = `${k.kind} ${formatGVR(k)} ${k.area}`.toLowerCase()
  return text.toLowerCase().split(/\s+/).every((w) => all.includes(w))
}

function Explore() {
  const { cluster = '' } = useParams({ strict: false }) as { cluster?: string }
  const custom = useCustomKinds(cluster)
  const { text, field } = useFilter('Filter: kind or group')
  const kinds = useMemo(() => [...builtinKinds, ...(custom.data ?? [])].filter((k) => fits(k, text)), [custom.data, text])
  return (
    <>
      <div className={kube.toolbar} role="search">
        <div className={kube.filter}>{field}</div>
        <span className={kube.muted} role="status">
          {many(kinds.length, 'kind')}
        </span>
      </div>
      {custom.error && !custom.data && <KubeError title="Can't list the custom kinds of this cluster; the built-in ones are below" error={custom.error} retry={() => void custom.refetch()} />}
      {kinds.length === 0 && !custom.isLoading && <Empty title="No kind matches">A kind of a CustomResourceDefinition is found by its plural name or its group.</Empty>}
      <div className={styles.areas}>
        {areas.map((area) => {
          const some = kinds.filter((k) => k.area === area)
          const loading = area === 'Custom resources' && custom.isLoading
          if (some.length === 0 && !loading) return null
          return (
            <Panel key={area} title={area} flush aside={count(some.length)}>
              {loading ? <SkeletonLines lines={4} /> : <Kinds cluster={cluster} kinds={some} />}
            </Panel>
          )
        })}
      </div>
    </>
  )
}

function Kinds({ cluster, kinds }: { cluster: string; kinds: Kind[] }) {
  return (
    <ul className={styles.kinds}>
      {kinds.map((k) => (
        <li key={formatGVR(k)}>
          <Link to={listPath(cluster, k) as string} className={styles.kind ?? ''}>
            <span className={styles.name}>{k.kind}</span>
            <span className={styles.group}>{apiVersionOf(k)}</span>
          </Link>
        </li>
      ))}
    </ul>
  )
}
