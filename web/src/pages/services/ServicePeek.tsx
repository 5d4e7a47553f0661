import { Link } from '@tanstack/react-router'
import { type Action, verbs } from './actions'
import { From, Revisions, serviceHref } from './columns'
import styles from './services.module.css'
import type { ServiceRow } from '#/api/gen/hub/v1/fleet_pb'
import { useMay } from '#/api/may'
import { Button, buttonClass } from '#/ds/Button'
import { MayNot } from '#/ds/Forbidden'
import { Facts, count, person } from '#/ds/Text'
import { SkeletonLines } from '#/ds/Skeleton'
import { Peek } from '#/grid/Peek'
import type { Source } from '#/grid/source'
import { Age } from '#/status/Age'
import { Status } from '#/status/Status'

interface Props {
  id: string
  rows: Source<ServiceRow> & { find: (id: string) => ServiceRow | undefined }
  onClose: () => void
  onAction: (action: Action, row: ServiceRow) => void
}

// ServicePeek is one service beside the list.
export function ServicePeek({ id, rows, onClose, onAction }: Props) {
  const row = rows.find(id)
  const may = useMay('write', row ? { cluster: row.cluster, service: row.name } : {}, row !== undefined)
  return (
    <Peek label="Service" title={row ? row.name : 'Service'} onClose={onClose}>
      {!row && rows.loading && <SkeletonLines lines={5} />}
      {!row && !rows.loading && <p>The rows that were read do not have it: it is further down, the filter leaves it out, it was deleted, or you may not see it.</p>}
      {row && (
        <>
          <Facts
            facts={[
              { label: 'Sync', value: <Status word={row.sync} dim={row.freshness !== 'Fresh'} /> },
              { label: 'Health', value: <Status word={row.health} dim={row.freshness !== 'Fresh'} /> },
              { label: 'Freshness', value: <Status word={row.freshness} at={row.polledAt} /> },
              { label: 'Reported', value: <Age at={row.reportedAt} after="ago" /> },
              { label: 'Cluster', value: <Link to={`/clusters/${encodeURIComponent(row.cluster)}`}>{row.cluster}</Link> },
              { label: 'Namespace', value: row.namespace },
              { label: 'Source', value: <From of={row} />, wide: true },
              { label: 'Desired → applied', value: <Revisions row={row} />, wide: true },
              ...(row.counts ? [{ label: 'Objects', value: `${count(row.counts.healthy)} of ${count(row.counts.total)} healthy` }] : []),
              { label: 'Changed', value: <Age at={row.updatedAt} after="ago" /> },
            ]}
          />
          {(row.reason || row.message) && (
            <div className={styles.section}>
              <strong>{row.reason || 'Message'}</strong>
              <p className={styles.message}>{row.message}</p>
            </div>
          )}
          {row.commitMessage && (
            <p>
              {row.commitMessage} <br />
              {person(row.commitAuthor)}, <Age at={row.committedAt} after="ago" />
            </p>
          )}
          <div className={styles.actions}>
            <Link to={serviceHref(row)} className={buttonClass('primary')}>
              Open
            </Link>
            {may.allowed === true && (
              <>
                <Button icon={verbs.sync.icon} onClick={() => onAction('sync', row)}>
                  Sync
                </Button>
                {row.paused || row.pinnedRevision > 0n ? (
                  <Button icon={verbs.resume.icon} onClick={() => onAction('resume', row)}>
                    Resume
                  </Button>
                ) : (
                  <Button icon={verbs.pause.icon} onClick={() => onAction('pause', row)}>
                    Pause…
                  </Button>
                )}
              </>
            )}
          </div>
          {may.allowed === false && <MayNot what="sync or pause it" reason={may.reason} />}
        </>
      )}
    </Peek>
  )
}
