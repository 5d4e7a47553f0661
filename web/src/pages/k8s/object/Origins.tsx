import { Link } from '@tanstack/react-router'
import { GitBranch } from 'lucide-react'
import type { KubeObject } from '../kube/object'
import { originsOf } from '../kube/origin'
import styles from './Object.module.css'
import { servicePath, useService } from './useService'
import { Banner } from '#/ds/State'
import { Hash } from '#/ds/Text'

// Origins says before an edit who will undo it.
export function Origins({ cluster, object }: { cluster: string; object: KubeObject }) {
  const origins = originsOf(object)
  const service = useService(cluster, origins.find((o) => o.tool === 'Axle')?.id)
  return origins.map((o) => (
    <Banner key={o.tool} tone="warn" icon={GitBranch}>
      {o.tool === 'Axle' ? (
        <span className={styles.inline}>
          Axle will revert this: it comes from service{' '}
          {service ? (
            <>
              <Link to={servicePath(cluster, service.name) as string}>{service.name}</Link> at commit <Hash revision={service.appliedRevision || service.desiredRevision} />
              {service.repository && ` of ${service.repository}`}
              {service.folder && `, folder ${service.folder}`}. Change it there.
            </>
          ) : (
            <code>{o.id}</code>
          )}
        </span>
      ) : o.tool === 'owner' ? (
        <>{o.id} owns this object and may revert an edit.</>
      ) : (
        <>
          {o.tool} {o.id && <code>{o.id}</code>} writes this object: {o.effect}.
        </>
      )}
    </Banner>
  ))
}
