import { type KubeObject, micros } from '../kube/object'
import styles from './Object.module.css'
import { containerStatuses } from './state'
import { stateOf } from '../kube/words'
import { Panel } from '#/ds/Panel'
import { Table } from '#/ds/Table'
import { Muted, count } from '#/ds/Text'
import { Age } from '#/status/Age'
import { Status } from '#/status/Status'

interface Container {
  name: string
  image?: string
  ports?: { containerPort: number; protocol?: string; name?: string }[]
  resources?: { requests?: Record<string, string>; limits?: Record<string, string> }
}

interface PodSpec {
  containers: Container[]
  initContainers?: Container[]
}

function amount(of: Record<string, string> | undefined): string {
  return ['cpu', 'memory'].flatMap((k) => (of?.[k] ? [`${of[k]} ${k}`] : [])).join(', ') || 'none'
}

export function Containers({ object, spec }: { object: KubeObject; spec: PodSpec }) {
  const pod = object.kind === 'Pod'
  const statuses = pod ? containerStatuses(object) : []
  const all = [...(spec.initContainers ?? []).map((c) => ({ ...c, init: true })), ...spec.containers.map((c) => ({ ...c, init: false }))]
  return (
    <Panel title="Containers" flush>
      <Table label="All containers" head={['Name', ...(pod ? ['State', 'Restarts'] : []), 'Image', 'Ports', 'Requests', 'Limits']}>
        {all.map((c) => {
          const status = statuses.find((s) => s.name === c.name)
          const [word = '', detail] = Object.entries(status?.state ?? {})[0] ?? []
          const label = word === 'running' ? (status?.ready ? 'Running' : 'Running, not ready') : (detail?.reason ?? (word || 'Not started'))
          const tone = word === 'running' ? (status?.ready || c.init ? 'Healthy' : 'Degraded') : stateOf(label)
          const last = status?.lastState?.['terminated']
          return (
            <tr key={c.name}>
              <td>
                {c.name} {c.init && <Muted>init</Muted>}
              </td>
              {pod && (
                <>
                  <td>
                    <Status word={tone} label={label} title={detail?.message ?? label} />
                    {detail?.message && <div className={styles.message}>{detail.message}</div>}
                  </td>
                  <td>
                    {count(status?.restartCount ?? 0)}
                    {last && (
                      <div>
                        <Muted>
                          last ended {last.reason ?? ''} with exit code {last.exitCode ?? '?'}, <Age at={micros(last.finishedAt)} after="ago" />
                        </Muted>
                      </div>
                    )}
                  </td>
                </>
              )}
              <td>
                <code>{c.image}</code>
              </td>
              <td>{c.ports?.map((p) => `${p.containerPort}/${p.protocol ?? 'TCP'}`).join(', ')}</td>
              <td>{amount(c.resources?.requests)}</td>
              <td>{amount(c.resources?.limits)}</td>
            </tr>
          )
        })}
      </Table>
    </Panel>
  )
}
