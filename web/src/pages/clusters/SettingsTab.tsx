import { useNavigate } from '@tanstack/react-router'
import { useQueryClient } from '@tanstack/react-query'
import { Suspense, lazy, useState } from 'react'
import styles from './AddCluster.module.css'
import { parseTags } from './install'
import { useCluster } from './useCluster'
import { keyOf, useAction } from '#/api/call'
import { type Cluster, Clusters } from '#/api/gen/hub/v1/hub_pb'
import { useMay } from '#/api/may'
import { session } from '#/api/session'
import { Button } from '#/ds/Button'
import { Command } from '#/ds/Copy'
import { TextArea, TextField } from '#/ds/Form'
import { MayNot } from '#/ds/Forbidden'
import { Panel } from '#/ds/Panel'
import { ErrorPanel } from '#/ds/State'
import { toast } from '#/ds/toast'

const DestroyClusterDialog = lazy(() => import('./DestroyClusterDialog').then((m) => ({ default: m.DestroyClusterDialog })))
const DeleteClusterDialog = lazy(() => import('./DeleteClusterDialog').then((m) => ({ default: m.DeleteClusterDialog })))

export function Page() {
  const { data: cluster } = useCluster()
  return cluster ? <Settings key={cluster.id} cluster={cluster} /> : null
}

function Settings({ cluster }: { cluster: Cluster }) {
  const client = useQueryClient()
  const navigate = useNavigate()
  const [deleting, setDeleting] = useState<'delete' | 'destroy'>()
  const [handle, setHandle] = useState(cluster.handle)
  const [tags, setTags] = useState(() =>
    Object.entries(cluster.tags)
      .map(([k, v]) => `${k}=${v}`)
      .join('\n'),
  )
  const parsed = parseTags(tags)
  const may = useMay('write', { cluster: cluster.name })
  const { admin, name: me } = session()
  const not = may.allowed === false && <MayNot what="change this cluster" reason={may.reason} />
  const again = () => void client.invalidateQueries({ queryKey: keyOf(Clusters.method.get, { name: cluster.name }) })
  const update = useAction(Clusters.method.update, () => {
    again()
    toast(`${cluster.name} is changed`)
  })
  const approve = useAction(Clusters.method.approve, () => {
    again()
    toast(`${cluster.name} is approved`)
  })
  return (
    <div className={styles.columns}>
      <div className={styles.form}>
        {cluster.pending && (
          <Panel title="Approval">
            <div className={styles.form}>
              <p>This cluster registered with a token that several may use. It gets no services before somebody approves it.</p>
              {approve.error && <ErrorPanel title="It was not approved" error={approve.error} />}
              {!admin && <MayNot what="approve it" reason={`${me} is no administrator`} />}
              <div>
                <Button variant="primary" disabled={!admin} busy={approve.isPending} onClick={() => approve.mutate({ name: cluster.name })}>
                  Approve {cluster.name}
                </Button>
              </div>
            </div>
          </Panel>
        )}
        <Panel title="Tags and handle">
          <form
            className={styles.form}
            onSubmit={(event) => {
              event.preventDefault()
              update.mutate({ name: cluster.name, handle: handle.trim(), tags: parsed.tags, setTags: true, management: { by: { tool: 'console' } } })
            }}
          >
            <TextField label="Handle" value={handle} onChange={setHandle} hint="The short unique name of the cluster." />
            <TextArea label="Tags" value={tags} rows={4} problem={parsed.problem} onChange={setTags} hint="KEY=VALUE, one a line. Global services that select by tags follow a change." />
            {not}
            {update.error && <ErrorPanel title="It was not changed" error={update.error} />}
            <div>
              <Button variant="primary" type="submit" busy={update.isPending} disabled={may.allowed !== true || parsed.problem !== undefined}>
                Save
              </Button>
            </div>
          </form>
        </Panel>
      </div>
      <div className={styles.form}>
        <Panel title="kubeconfig">
          <div className={styles.form}>
            <p>Reaches the cluster through the hub, under your own name:</p>
            <Command command={`axle clusters kubeconfig ${cluster.name}`} />
          </div>
        </Panel>
        {cluster.origin && (
          <Panel title="Destroy">
            <div className={styles.form}>
              <p>{cluster.origin.destroying ? 'Its machines are being removed; then it leaves the hub.' : `Removes the machines by ${cluster.origin.managementCluster}, and then the cluster from the hub.`}</p>
              <Command command={`axle clusters destroy ${cluster.name}`} />
              {not}
              <div>
                <Button variant="danger" disabled={may.allowed !== true || cluster.origin.destroying} onClick={() => setDeleting('destroy')}>
                  Destroy {cluster.name}…
                </Button>
              </div>
            </div>
          </Panel>
        )}
        <Panel title="Delete">
          <div className={styles.form}>
            <p>{cluster.origin ? 'Removes the cluster from the hub only, and revokes its tokens: the machines stay, and nothing manages them any more.' : 'Removes the cluster from the hub and revokes its tokens. Nothing in the cluster is drained.'}</p>
            {not}
            <div>
              <Button variant="danger" disabled={may.allowed !== true} onClick={() => setDeleting('delete')}>
                Delete {cluster.name}…
              </Button>
            </div>
          </div>
        </Panel>
      </div>
      <Suspense fallback={null}>
        {deleting === 'delete' && <DeleteClusterDialog cluster={cluster} onClose={() => setDeleting(undefined)} onDeleted={() => void navigate({ to: '/clusters' })} />}
        {deleting === 'destroy' && <DestroyClusterDialog cluster={cluster} onClose={() => setDeleting(undefined)} />}
      </Suspense>
    </div>
  )
}
