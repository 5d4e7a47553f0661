import { type ReactNode, Suspense, lazy } from 'react'
import { Link } from '@tanstack/react-router'
import type { Place } from '../kube/calls'
import { formatGVR, objectPath } from '../kube/gvr'
import { type KubeObject, conditionsOf, micros, ownerOf } from '../kube/object'
import { resourceOf } from '../kube/kinds'
import { isSecret } from '../kube/secret'
import { Containers } from './Containers'
import styles from './Object.module.css'
import { SecretKeys } from './SecretKeys'
import { factsOf } from './facts'
import { statusOf } from './state'
import { tabsFor } from './tabs'
import { Command } from '#/ds/Copy'
import { Panel } from '#/ds/Panel'
import { Table } from '#/ds/Table'
import { Facts, Muted, Tag, count } from '#/ds/Text'
import { Age } from '#/status/Age'
import { Status } from '#/status/Status'

const PodsLastLines = lazy(() => import('./PodsLastLines').then((m) => ({ default: m.PodsLastLines })))
const PlaceLinks = lazy(() => import('#/pages/clusters/Links').then((m) => ({ default: m.PlaceLinks })))

// Summary is what a person wants to know first about an object of any kind.
export function Summary({ place, object }: { place: Place; object: KubeObject }) {
  const { metadata, kind } = object
  const owner = ownerOf(object)
  const conditions = conditionsOf(object)
  const pod = kind === 'Pod' ? object['spec'] : object['spec']?.template?.spec
  const data = !isSecret(object) && kind === 'ConfigMap' ? (object['data'] as Record<string, string> | undefined) : undefined
  // What is well, or scaled to 0, has no pods that are worth a question.
  const suspect = kind !== 'Service' && tabsFor(place.gvr.group, place.gvr.resource).some((t) => t.id === 'logs') && !['Healthy', 'Paused'].includes(statusOf(object)?.word ?? '')
  return (
    <div className={styles.panels}>
      {suspect && (
        <Suspense fallback={null}>
          <PodsLastLines place={place} object={object} />
        </Suspense>
      )}
      <Panel title={kind}>
        <Facts
          facts={[
            ...factsOf(object, place.cluster),
            { label: 'Age', value: <Age at={micros(metadata.creationTimestamp)} /> },
            ...(owner ? [{ label: 'Owner', value: <Link to={objectPath(place.cluster, resourceOf(owner.apiVersion, owner.kind), metadata.namespace ?? '', owner.name) as string}>{`${owner.kind} ${owner.name}`}</Link> }] : []),
            ...(metadata.generation ? [{ label: 'Generation', value: count(metadata.generation) }] : []),
            { label: 'Labels', value: <Marks marks={metadata.labels} />, wide: true },
            { label: 'Annotations', value: <Marks marks={metadata.annotations} />, wide: true },
          ]}
        />
        {kind === 'Pod' && (
          <Suspense fallback={null}>
            <PlaceLinks cluster={place.cluster} namespace={metadata.namespace ?? ''} pod={metadata.name} />
          </Suspense>
        )}
      </Panel>
      {conditions.length > 0 && (
        <Panel title="Conditions" flush>
          <Conditions conditions={conditions} />
        </Panel>
      )}
      {pod?.containers && <Containers object={object} spec={pod} />}
      {isSecret(object) && <SecretKeys place={place} object={object} />}
      {data && (
        <Panel title="Data" flush>
          <Table label="Keys and values" head={['Key', 'Value']}>
            {Object.entries(data).map(([key, value]) => (
              <tr key={key} className={styles.keys}>
                <td>
                  <code>{key}</code>
                </td>
                <td>
                  <div className={styles.value}>
                    <pre aria-label={key}>{value.length > 20_000 ? `${value.slice(0, 20_000)}\n… ${count(value.length - 20_000)} more characters: see YAML` : value}</pre>
                  </div>
                </td>
              </tr>
            ))}
          </Table>
        </Panel>
      )}
      <Commands place={place} object={object} />
    </div>
  )
}

function Marks({ marks }: { marks: Record<string, string> | undefined }) {
  const all = Object.entries(marks ?? {})
  if (all.length === 0) return <Muted>none</Muted>
  return (
    <span className={styles.labels}>
      {all.map(([k, v]) => (
        <Tag key={k} title={`${k}=${v.length > 1_000 ? `${v.slice(0, 1_000)}…` : v}`}>
          {k}={v.length > 60 ? `${v.slice(0, 60)}…` : v}
        </Tag>
      ))}
    </span>
  )
}

// Conditions that are good when false.
const reversed = /Pressure|Unavailable|Failed|Failure|Stalled|Suspended|Disruption/

export function Conditions({ conditions }: { conditions: ReturnType<typeof conditionsOf> }) {
  return (
    <Table label="All conditions" head={['Condition', 'Status', 'Since', 'Reason', 'Message']}>
      {conditions.map((c) => {
        const good = reversed.test(c.type) ? c.status === 'False' : c.status === 'True'
        return (
          <tr key={c.type}>
            <td>{c.type}</td>
            <td>
              <Status word={c.status === 'Unknown' ? 'Unknown' : good ? 'Healthy' : 'Degraded'} label={c.status} title={c.status} />
            </td>
            <td>
              <Age at={micros(c.lastTransitionTime ?? c.lastUpdateTime)} never="" />
            </td>
            <td>{c.reason}</td>
            <td>
              <div className={styles.message}>{c.message}</div>
            </td>
          </tr>
        )
      })}
    </Table>
  )
}

const forwards: Record<string, string> = { Pod: 'pod', Service: 'svc', Deployment: 'deploy', StatefulSet: 'sts' }

function Commands({ place, object }: { place: Place; object: KubeObject }) {
  const { kind, metadata } = object
  const ns = metadata.namespace ? ` --namespace ${metadata.namespace}` : ''
  const lines: [string, string][] = []
  if (forwards[kind]) {
    const spec = object['spec'] ?? {}
    const port = Number(spec.ports?.[0]?.port ?? (kind === 'Pod' ? spec : spec.template?.spec)?.containers?.[0]?.ports?.[0]?.containerPort ?? 8080)
    lines.push(['Forward a port to your machine', `kubectl${ns} port-forward ${forwards[kind]}/${metadata.name} ${port < 1024 ? port + 8000 : port}:${port}`])
  }
  lines.push(['The same object with kubectl', `kubectl${ns} get ${formatGVR(place.gvr)} ${metadata.name} --output yaml`])
  lines.push(['A kubeconfig for this cluster, through the hub', `axle clusters kubeconfig ${place.cluster} --output merge`])
  return (
    <Panel title="On the command line">
      <div className={styles.panels}>
        {lines.map(([label, command]): ReactNode => (
          <div key={label}>
            <Muted>{label}</Muted>
            <Command label={label} command={command} />
          </div>
        ))}
      </div>
    </Panel>
  )
}
