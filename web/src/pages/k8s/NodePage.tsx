import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { CircleCheck, CirclePause } from 'lucide-react'
import { useEffect, useRef } from 'react'
import kube from './kube/Kube.module.css'
import { nodesGVR } from './NodesPage'
import { KubeError } from './kube/KubeError'
import { LiveGate } from './kube/LiveGate'
import { LiveState } from './kube/LiveState'
import { listObjects } from './kube/calls'
import { objectPath } from './kube/gvr'
import { type KubeObject, conditionsOf, micros } from './kube/object'
import { bytes, cores, quantity } from './kube/quantity'
import { useKubeTitle } from './kube/useKubeTitle'
import { useObject } from './kube/useObject'
import styles from './object/Object.module.css'
import { Conditions } from './object/Summary'
import { statusOf } from './object/state'
import { useWrite } from './object/useWrite'
import { Button, buttonClass } from '#/ds/Button'
import { Command } from '#/ds/Copy'
import { Crumbs } from '#/ds/Crumbs'
import { Panel } from '#/ds/Panel'
import { SkeletonLines } from '#/ds/Skeleton'
import { Empty } from '#/ds/State'
import { Table } from '#/ds/Table'
import { Facts, Muted, Tag, count, many } from '#/ds/Text'
import { Age } from '#/status/Age'
import { Status } from '#/status/Status'

export function Page() {
  return (
    <LiveGate>
      <NodeView />
    </LiveGate>
  )
}

const podsGVR = { group: '', version: 'v1', resource: 'pods' }

interface Container {
  resources?: { requests?: Record<string, string>; limits?: Record<string, string> }
}

// requested sums what the pods of a node ask for; pods that ended ask for nothing.
export function requested(pods: KubeObject[], of: 'cpu' | 'memory'): number {
  return pods
    .filter((p) => !['Succeeded', 'Failed'].includes(String(p['status']?.phase)))
    .flatMap((p) => (p['spec']?.containers ?? []) as Container[])
    .reduce((n, c) => n + quantity(c.resources?.requests?.[of]), 0)
}

function NodeView() {
  const { cluster = '', node: name = '' } = useParams({ strict: false }) as { cluster?: string; node?: string }
  const place = { cluster, gvr: nodesGVR }
  const { data: node, error, refetch, live } = useObject(place, name)
  const pods = useQuery({
    queryKey: ['k8s', cluster, 'pods on', name],
    staleTime: 5_000,
    refetchInterval: 10_000,
    queryFn: ({ signal }) => listObjects({ cluster, gvr: podsGVR }, { fieldSelector: `spec.nodeName=${name}`, limit: 500 }, signal),
  })
  const { busy, failed, run } = useWrite(place, name)
  const heading = useRef<HTMLHeadingElement>(null)
  useKubeTitle(`${name} · ${cluster}`)
  useEffect(() => {
    if (document.activeElement === document.body) heading.current?.focus({ preventScroll: true })
  }, [])
  const state = node && statusOf(node)
  const cordoned = node?.['spec']?.unschedulable === true
  const cordon = (on: boolean) => void run(on ? 'cordon' : 'uncordon', on ? `${name} takes no new pods.` : `${name} takes pods again.`, { verb: 'patch', object: JSON.stringify({ spec: { unschedulable: on || null } }) })
  return (
    <>
      <header className={styles.header}>
        <Crumbs label="Where the node is" items={[{ label: 'Nodes', to: `/clusters/${encodeURIComponent(cluster)}/nodes` }]} />
        <div className={styles.row}>
          <div className={kube.heading}>
            <h2 ref={heading} tabIndex={-1}>
              {name}
            </h2>
            {state && <Status word={state.word} label={state.label} title={state.label} chip />}
            <LiveState live={live} />
          </div>
          {node && (
            <div className={styles.actions}>
              <Link to={objectPath(cluster, nodesGVR, '', name, 'yaml') as string} className={buttonClass()}>
                YAML and events
              </Link>
              {cordoned ? (
                <Button icon={CircleCheck} busy={busy !== ''} onClick={() => cordon(false)}>
                  Uncordon
                </Button>
              ) : (
                <Button icon={CirclePause} busy={busy !== ''} title="It takes no new pods; those that run stay" onClick={() => cordon(true)}>
                  Cordon
                </Button>
              )}
            </div>
          )}
        </div>
      </header>
      {failed && <KubeError title={`The node was not ${failed.what}ed`} error={failed.error} />}
      {error && !node ? <KubeError title={`Can't read the node ${name}`} error={error} retry={() => void refetch()} /> : node ? <Details node={node} pods={pods.data?.items} /> : <SkeletonLines lines={8} />}
      {node && (
        <Panel title="Pods" flush aside={pods.data && many(pods.data.items.length, 'pod')}>
          {pods.error && !pods.data ? <KubeError title="Can't list the pods of this node" error={pods.error} retry={() => void pods.refetch()} /> : <Pods cluster={cluster} pods={pods.data?.items} />}
        </Panel>
      )}
      <Panel title="Drain">
        <div className={styles.panels}>
          <Muted>Moving all pods away waits for disruption budgets and grace periods, so it is done where it can be watched and stopped:</Muted>
          <Command label="Drain with kubectl" command={`kubectl drain ${name} --ignore-daemonsets --delete-emptydir-data`} />
          <Command label="A kubeconfig for this cluster" command={`axle clusters kubeconfig ${cluster} --output merge`} />
        </div>
      </Panel>
    </>
  )
}

function Meter({ label, used, of, show }: { label: string; used: number | undefined; of: number; show: (n: number) => string }) {
  return (
    <span className={styles.meter}>
      <span>
        {used === undefined ? '…' : show(used)} of {show(of)}
      </span>
      <progress max={of || 1} value={Math.min(used ?? 0, of || 1)} aria-label={label} />
    </span>
  )
}

function Details({ node, pods }: { node: KubeObject; pods: KubeObject[] | undefined }) {
  const status = node['status'] ?? {}
  const info = status.nodeInfo ?? {}
  const free = (status.allocatable ?? {}) as Record<string, string>
  const taints = (node['spec']?.taints ?? []) as { key: string; value?: string; effect: string }[]
  const roles = Object.keys(node.metadata.labels ?? {}).flatMap((k) => (k.startsWith('node-role.kubernetes.io/') ? [k.slice(24)] : []))
  const addresses = (status.addresses ?? []) as { type: string; address: string }[]
  return (
    <div className={styles.panels}>
      <Panel title="Capacity" aside="what pods request, of what the node can give">
        <Facts
          facts={[
            { label: 'CPU', value: <Meter label="CPU requested" used={pods && requested(pods, 'cpu')} of={quantity(free['cpu'])} show={cores} /> },
            { label: 'Memory', value: <Meter label="Memory requested" used={pods && requested(pods, 'memory')} of={quantity(free['memory'])} show={bytes} /> },
            { label: 'Pods', value: <Meter label="Pods" used={pods?.length} of={quantity(free['pods'])} show={count} /> },
          ]}
        />
      </Panel>
      <Panel title="Node">
        <Facts
          facts={[
            { label: 'Roles', value: roles.join(', ') || 'none' },
            { label: 'Kubelet', value: info.kubeletVersion ?? 'unknown' },
            { label: 'System', value: [info.osImage, info.architecture].filter(Boolean).join(', ') || 'unknown' },
            { label: 'Runtime', value: info.containerRuntimeVersion ?? 'unknown' },
            { label: 'Addresses', value: addresses.map((a) => a.address).join(', ') || 'none' },
            { label: 'Age', value: <Age at={micros(node.metadata.creationTimestamp)} /> },
            {
              label: 'Taints',
              wide: true,
              value: taints.length ? (
                <span className={styles.labels}>
                  {taints.map((t) => (
                    <Tag key={`${t.key} ${t.effect}`}>
                      {t.key}
                      {t.value ? `=${t.value}` : ''}:{t.effect}
                    </Tag>
                  ))}
                </span>
              ) : (
                <Muted>none</Muted>
              ),
            },
            { label: 'Labels', wide: true, value: <span className={styles.labels}>{Object.entries(node.metadata.labels ?? {}).map(([k, v]) => <Tag key={k} title={`${k}=${v}`}>{v ? `${k}=${v}` : k}</Tag>)}</span> },
          ]}
        />
      </Panel>
      <Panel title="Conditions" flush>
        <Conditions conditions={conditionsOf(node)} />
      </Panel>
    </div>
  )
}

function Pods({ cluster, pods }: { cluster: string; pods: KubeObject[] | undefined }) {
  if (!pods) return <SkeletonLines lines={5} />
  if (pods.length === 0) return <Empty title="No pods run on this node" />
  return (
    <Table label="Pods of the node" head={['Name', 'Namespace', 'Status', 'CPU', 'Memory', 'Age']}>
      {pods.map((p) => {
        const state = statusOf(p)
        return (
          <tr key={p.metadata.uid}>
            <td>
              <Link to={objectPath(cluster, podsGVR, p.metadata.namespace ?? '', p.metadata.name) as string}>{p.metadata.name}</Link>
            </td>
            <td>{p.metadata.namespace}</td>
            <td>{state && <Status word={state.word} label={state.label} title={state.title} />}</td>
            <td>{cores(requested([p], 'cpu'))}</td>
            <td>{bytes(requested([p], 'memory'))}</td>
            <td>
              <Age at={micros(p.metadata.creationTimestamp)} />
            </td>
          </tr>
        )
      })}
    </Table>
  )
}
