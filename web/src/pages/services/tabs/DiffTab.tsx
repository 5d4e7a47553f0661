import { RefreshCw } from 'lucide-react'
import { useState } from 'react'
import { Differences } from './Differences'
import styles from './tabs.module.css'
import { useDiff } from './useDiff'
import type { Service } from '#/api/gen/hub/v1/hub_pb'
import type { May } from '#/api/may'
import { Button } from '#/ds/Button'
import { MayNot } from '#/ds/Forbidden'
import { Segmented } from '#/ds/Form'
import { SkeletonLines } from '#/ds/Skeleton'
import { Banner, Empty, ErrorPanel } from '#/ds/State'
import { Hash, Muted, many } from '#/ds/Text'
import { Age } from '#/status/Age'

// DiffTab is what applying the service would change in its cluster. It shows what
// objects hold, so it takes the right to write.
export function DiffTab({ service, may }: { service: Service; may: May }) {
  if (may.allowed === undefined) return <SkeletonLines lines={4} />
  return may.allowed ? <Compared service={service} /> : <MayNot what="compare this service with its cluster" reason={may.reason} />
}

function Compared({ service }: { service: Service }) {
  const { diff, error, waiting, ask, retry } = useDiff(service)
  const [split, setSplit] = useState(false)
  return (
    <div className={styles.tab}>
      <div className={styles.tools}>
        <Button icon={RefreshCw} busy={waiting} onClick={ask}>
          {waiting ? 'Waiting for the agent' : 'Compare again'}
        </Button>
        {diff && diff.madeAt > 0n && (
          <Muted>
            compared <Age at={diff.madeAt} after="ago" />, revision {String(diff.revision)} <Hash revision={diff.sourceRevision} />, {many(diff.unchanged, 'unchanged object')}
          </Muted>
        )}
        <span className={styles.spread} />
        <Segmented label="Layout" value={split ? 'split' : 'unified'} options={[{ value: 'unified', label: 'Unified' }, { value: 'split', label: 'Side by side' }]} onChange={(v) => setSplit(v === 'split')} />
      </div>
      {error && <ErrorPanel title="Can't compare" error={error} retry={retry} />}
      {diff?.error && <Banner tone="bad">{diff.error}</Banner>}
      {!diff && !error && <SkeletonLines lines={4} />}
      {diff && diff.madeAt === 0n && !waiting && !diff.error && (
        <Empty title="Not compared yet" actions={<Button onClick={ask}>Compare now</Button>}>
          The agent renders the desired revision, asks its API server what an apply would change, and sends that at its next poll. Values of Secrets never leave the cluster.
        </Empty>
      )}
      {diff && diff.madeAt > 0n && !diff.error && (diff.differences.length === 0 ? <Empty title="No difference">The cluster has what the desired revision declares.</Empty> : <Differences diff={diff} split={split} />)}
    </div>
  )
}
