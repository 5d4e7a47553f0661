import styles from './Metrics.module.css'
import type { MissingMetrics, ObservabilityNamespaces, ObservabilitySource } from '#/api/gen/hub/v1/observe_pb'
import { Command } from '#/ds/Copy'
import { Banner } from '#/ds/State'
import { Muted } from '#/ds/Text'

// Missing says which metrics a cluster does not have, and the command that installs what makes them.
export function Missing({ missing }: { missing: MissingMetrics[] }) {
  return missing.map((m) => (
    <Banner key={m.name} tone="idle">
      <strong>No metrics of {m.name}.</strong> {m.message}.
      {m.command && <Command command={m.command} />}
    </Banner>
  ))
}

// Notices are the hub's sentences about an answer, and which namespaces it is limited to.
export function Notices({ notices, namespaces }: { notices: string[]; namespaces?: ObservabilityNamespaces | undefined }) {
  const some = namespaces && !namespaces.all
  return (
    <>
      {[...new Set(notices)].map((n) => (
        <Banner key={n} tone="warn">
          {n}
        </Banner>
      ))}
      {some && namespaces.names.length > 0 && (
        <p className={styles.note}>
          <Muted>
            Limited to {namespaces.names.slice(0, 5).join(', ')}
            {namespaces.names.length + namespaces.leftOut > 5 && ` and ${namespaces.names.length + namespaces.leftOut - 5} more`}: the namespaces in which you may read the logs of pods.
          </Muted>
        </p>
      )}
    </>
  )
}

export function Source({ source }: { source: ObservabilitySource }) {
  return (
    <p className={styles.note}>
      <Muted>
        From {source.name}
        {source.at && source.at !== source.name && ` at ${source.at}`}.
      </Muted>
    </p>
  )
}
