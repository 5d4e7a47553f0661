import { Link } from '@tanstack/react-router'
import type { GlobalServiceFailure } from '#/api/gen/hub/v1/globals_pb'
import { type Col, Listing } from '#/ds/Listing'
import { Panel } from '#/ds/Panel'
import { many } from '#/ds/Text'
import { Age } from '#/status/Age'

const cols: Col<GlobalServiceFailure>[] = [
  { id: 'cluster', header: 'Cluster', cell: (f) => <Link to="/clusters/$cluster" params={{ cluster: f.cluster } as never}>{f.cluster}</Link> },
  { id: 'message', header: 'Why', grow: true, cell: (f) => f.message },
  { id: 'at', header: 'Since', cell: (f) => <Age at={f.at} after="ago" /> },
]

// Failures are clusters on which it could not be made as wanted.
export function Failures({ failures, failing }: { failures: GlobalServiceFailure[]; failing: number }) {
  if (failing === 0) return null
  return (
    <Panel title="Could not be made" flush aside={failing > failures.length ? `the first ${failures.length} of ${many(failing, 'cluster')}` : many(failing, 'cluster')}>
      <Listing label="Clusters where it could not be made" cols={cols} rows={failures} idOf={(f) => f.cluster} empty={null} />
    </Panel>
  )
}
