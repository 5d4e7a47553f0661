import { Lock } from 'lucide-react'
import { useState } from 'react'
import styles from './tabs.module.css'
import { useCall } from '#/api/call'
import { type ConfigLayer, type Service, Services } from '#/api/gen/hub/v1/hub_pb'
import { TextField } from '#/ds/Form'
import { SkeletonLines } from '#/ds/Skeleton'
import { Command } from '#/ds/Copy'
import { Empty, ErrorPanel } from '#/ds/State'
import { Table } from '#/ds/Table'
import { Muted } from '#/ds/Text'

// ConfigTab is what templates see, and which layer each value comes from.
export function ConfigTab({ service }: { service: Service }) {
  const ref = { cluster: service.cluster, name: service.name }
  const call = useCall(Services.method.config, { ref }, { keep: true })
  const [filter, setFilter] = useState('')
  if (call.error && !call.data) return <ErrorPanel title="Can't read the configuration" error={call.error} retry={() => void call.refetch()} />
  if (!call.data) return <SkeletonLines lines={6} />
  const values = call.data.values.filter((v) => v.key.toLowerCase().includes(filter.trim().toLowerCase()))
  if (call.data.values.length === 0) {
    return (
      <Empty title="No configuration">
        <p>Templates of this service see no values. Set one:</p>
        <Command command={`axle services update ${service.cluster}/${service.name} --var KEY=VALUE`} />
      </Empty>
    )
  }
  return (
    <div className={styles.tab}>
      <div className={styles.tools}>
        <div className={styles.search}>
          <TextField label="Filter keys" hideLabel type="search" placeholder="Filter keys" value={filter} onChange={setFilter} />
        </div>
        <Muted>Secret values stay at the hub; the hash differs when the value does.</Muted>
      </div>
      <div className={styles.scroll}>
        <Table label="Configuration" head={['Key', 'Value', 'From']}>
          {values.map((v) =>
            v.layers.map((layer, i) => (
              <tr key={`${v.key} ${layer.layer} ${layer.source}`}>
                <td>{i === 0 ? <strong>{v.key}</strong> : <span className="visually-hidden">{v.key}, overridden</span>}</td>
                <td className={`${styles.value} ${i > 0 ? styles.over : ''}`}>
                  <Value layer={layer} />
                </td>
                <td>
                  {layer.layer} <Muted>{layer.source}</Muted>
                </td>
              </tr>
            )),
          )}
        </Table>
      </div>
    </div>
  )
}

function Value({ layer }: { layer: ConfigLayer }) {
  if (!layer.secret) return <>{layer.value}</>
  return (
    <Muted>
      <Lock size={12} aria-label="secret" /> {layer.hash ? layer.hash.slice(0, 12) : 'secret'}
    </Muted>
  )
}
