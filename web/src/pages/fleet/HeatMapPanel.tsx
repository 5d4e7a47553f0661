import { HeatMap } from './HeatMap'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCall } from '#/api/call'
import { Fleet } from '#/api/gen/hub/v1/fleet_pb'
import { type Search, textOf } from '#/app/search'
import { Select } from '#/ds/Form'
import { Panel } from '#/ds/Panel'
import { SkeletonLines } from '#/ds/Skeleton'
import { ErrorPanel } from '#/ds/State'

const usual = [
  { value: '', label: 'No groups' },
  { value: 'project', label: 'By project' },
  { value: 'distro', label: 'By distribution' },
  { value: 'kubernetes_version', label: 'By Kubernetes version' },
]

interface Props {
  project?: string
  most: number
  onPeek: (name: string) => void
}

// HeatMapPanel is all clusters at a glance; the group is in the URL.
export function HeatMapPanel({ project = '', most, onPeek }: Props) {
  const search = useSearch({ strict: false }) as Search
  const navigate = useNavigate()
  const groupBy = textOf(search['group'])
  const map = useCall(Fleet.method.heatMap, { project, groupBy }, { keep: true })
  const options = [...usual, ...(map.data?.tagKeys ?? []).slice(0, 12).map((key) => ({ value: `tag:${key}`, label: `By tag ${key}` }))]
  if (groupBy && !options.some((o) => o.value === groupBy)) options.push({ value: groupBy, label: groupBy })
  return (
    <Panel
      title="Clusters"
      aside={
        <Select label="Group" hideLabel small value={groupBy} options={options} onChange={(group) => void navigate({ to: '.', search: (old: Search) => ({ ...old, group: group || undefined }), replace: true } as never)} />
      }
    >
      {map.error && !map.data ? <ErrorPanel title="Can't read the heat map" error={map.error} retry={() => void map.refetch()} /> : map.data ? <HeatMap groups={map.data.groups} groupBy={groupBy} most={most} onPeek={onPeek} /> : <SkeletonLines lines={5} />}
    </Panel>
  )
}
