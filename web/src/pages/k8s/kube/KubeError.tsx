import type { ReactNode } from 'react'
import { deniedOf, grantFor, refusalOf } from './errors'
import { problemOf } from '#/api/errors'
import { Command } from '#/ds/Copy'
import { ErrorPanel } from '#/ds/State'
import styles from './Kube.module.css'

// KubeError says what a cluster answered, verbatim, and for a refusal who was
// refused what and which binding would allow it.
export function KubeError({ title, error, others, children, retry }: { title: string; error: unknown; others?: unknown[]; children?: ReactNode; retry?: (() => void) | undefined }) {
  const { message } = problemOf(error)
  const denied = deniedOf(message)
  const refusal = refusalOf(error)
  const more = (others ?? []).flatMap((e) => deniedOf(problemOf(e).message) ?? [])
  const things = denied && [...new Set([denied, ...more].map((d) => d.resource))].join(', ')
  return (
    <ErrorPanel title={title} error={error} retry={retry}>
      {denied && (
        <>
          <p>
            <b>{denied.user}</b> may not <b>{denied.verb}</b> {denied.name ? `${denied.resource} ${denied.name}` : things}
            {denied.group && more.length === 0 ? ` of ${denied.group}` : ''} {denied.namespace ? `in the namespace ${denied.namespace}` : 'in the whole cluster'}. An administrator of the cluster can allow it:
          </p>
          <details className={styles.grant}>
            <summary>The {denied.namespace ? 'Role and RoleBinding' : 'ClusterRole and ClusterRoleBinding'}</summary>
            <Command label="Role and binding" command={grantFor([denied, ...more])} />
          </details>
        </>
      )}
      {refusal === 'forbidden' && !denied && <p>This is the hub’s refusal, not the cluster’s: who administers the hub can change it.</p>}
      {refusal === 'unreachable' && <p>Live views go through the tunnel of the cluster’s agent. Deploys continue without it.</p>}
      {children}
    </ErrorPanel>
  )
}
