import { useId } from 'react'
import styles from '../Settings.module.css'
import { useCall } from '#/api/call'
import { Clusters, Projects } from '#/api/gen/hub/v1/hub_pb'
import { Select, TextField } from '#/ds/Form'

const levels = [
  { value: 'hub', label: 'The whole hub' },
  { value: 'project', label: 'A project' },
  { value: 'cluster', label: 'A cluster' },
  { value: 'service', label: 'A service' },
]

interface Props {
  level: string
  object: string
  onChange: (level: string, object: string) => void
}

// PlaceFields choose a place: a right there also holds for everything below.
export function PlaceFields({ level, object, onChange }: Props) {
  const list = useId()
  const projects = useCall(Projects.method.list, {}, { enabled: level === 'project' })
  const clusters = useCall(Clusters.method.list, {}, { enabled: level === 'cluster' || level === 'service' })
  const known = level === 'project' ? projects.data?.projects.map((p) => p.name) : clusters.data?.clusters.map((c) => (level === 'service' ? `${c.handle || c.name}/` : c.handle || c.name))
  return (
    <div className={styles.two}>
      <Select label="Place" value={level} options={levels} onChange={(l) => onChange(l, '')} hint="It holds for everything below, too." />
      {level !== 'hub' && (
        <>
          <TextField label={level === 'service' ? 'Cluster/service' : `Name of the ${level}`} value={object} onChange={(o) => onChange(level, o)} list={list} placeholder={level === 'service' ? 'edge-1/web' : ''} autoComplete="off" />
          <datalist id={list}>
            {known?.slice(0, 500).map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </datalist>
        </>
      )}
    </div>
  )
}
