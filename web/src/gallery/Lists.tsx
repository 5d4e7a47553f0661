import { create } from '@bufbuild/protobuf'
import { useState } from 'react'
import styles from './Gallery.module.css'
import { ManagerSchema } from '#/api/gen/hub/v1/hub_pb'
import { Crumbs } from '#/ds/Crumbs'
import { FilterSentence } from '#/ds/FilterSentence'
import type { FilterField, FilterValues } from '#/ds/filters'
import { Forbidden, MayNot } from '#/ds/Forbidden'
import { Go } from '#/ds/Go'
import { Listing, type Col } from '#/ds/Listing'
import { ManagedBy } from '#/ds/ManagedBy'
import { Panel } from '#/ds/Panel'
import { Skeleton } from '#/ds/Skeleton'
import { Empty } from '#/ds/State'
import { TabNav } from '#/ds/TabNav'
import { Table } from '#/ds/Table'
import { Badge, Muted } from '#/ds/Text'
import { WaveMatrix } from '#/ds/WaveMatrix'
import { order, type WaveFilter } from '#/ds/waves'
import { ColumnChoice } from '#/grid/ColumnChoice'
import { noFilter } from '#/grid/filter'
import { FilterBar } from '#/grid/FilterBar'
import { Beside, Peek } from '#/grid/Peek'
import { Age, Time, Until } from '#/status/Age'
import { Status, StatusIcon } from '#/status/Status'
import { knownWords } from '#/status/words'

const tabs = ['Overview', 'Events', 'Settings'].map((label) => ({ label, to: '/__gallery', note: label === 'Events' ? '12' : undefined }))
const fields: FilterField[] = [
  { id: 'actor', label: 'Actor', words: 'actor is' },
  { id: 'result', label: 'Result', words: 'result is', options: [{ value: 'forbidden', label: 'forbidden' }] },
]
const targets = order.map((state, i) => ({ cluster: `edge-${i}`, wave: 1 + (i % 2), state, message: 'It says why.' }))
const now = Date.now()
const managers = ['console', 'terraform'].map((tool) => create(ManagerSchema, { tool }))

interface Row {
  name: string
  word: string
}

const rows: Row[] = knownWords.slice(0, 6).map((word, i) => ({ name: `row ${i}`, word }))
const cols: Col<Row>[] = [
  { id: 'name', header: 'Name', cell: (r) => <Go to="/__gallery">{r.name}</Go> },
  { id: 'status', header: 'Status', grow: true, cell: (r) => <Status word={r.word} /> },
]

// Lists are the components that lists and their pages are made of.
export function Lists() {
  const [values, setValues] = useState<FilterValues>({ actor: 'ann', result: 'forbidden' })
  const [filter, setFilter] = useState({ ...noFilter, text: 'web' })
  const [wave, setWave] = useState<WaveFilter>({ wave: '1', state: '' })
  const [shown, setShown] = useState<string[]>(['name'])
  const [peeks, setPeeks] = useState(true)
  return (
    <div className={styles.parts}>
      <Panel title="Navigation">
        <Crumbs label="Above" items={[{ label: 'Clusters', to: '/clusters' }, { label: 'Services', to: '/services' }]} />
        <TabNav label="Tabs" tabs={tabs} current="Overview" />
      </Panel>
      <Panel title="Filters">
        <FilterSentence noun="records" fields={fields} values={values} onChange={setValues} />
        <FilterBar noun="service" filter={filter} fields={[]} facets={[]} total={3} unfiltered={12} onFilter={setFilter}>
          <ColumnChoice columns={[{ id: 'name', header: 'Name', min: 80, cell: () => null }]} shown={shown} onShown={setShown} />
        </FilterBar>
      </Panel>
      <Panel title="Listing">
        <Listing label="Rows" cols={cols} rows={rows} idOf={(r) => r.name} empty={<Empty title="None" />} />
        <Listing label="No rows" cols={cols} rows={undefined} error={new Error('the hub does not answer')} idOf={(r) => r.name} empty={null} />
      </Panel>
      <Panel title="Table">
        <Table label="Small table" head={['Name', 'State', 'When']}>
          {rows.map((r) => (
            <tr key={r.name}>
              <td>{r.name}</td>
              <td>
                <StatusIcon word={r.word} /> <Muted>{r.word}</Muted>
              </td>
              <td>
                <Age at={now - 60_000} /> <Time at={now} /> <Until at={now + 60_000} />
              </td>
            </tr>
          ))}
        </Table>
      </Panel>
      <Panel title="A rollout">
        <WaveMatrix targets={targets} waves={2} names={['Some', 'All']} current={1} filter={wave} onFilter={setWave} />
      </Panel>
      <Panel title="Rights">
        <Forbidden what="read the audit log" needs="the right of an administrator" command="axle users admin ann" />
        <MayNot what="delete it" reason="it is of another project." />
        {managers.map((m) => (
          <ManagedBy key={m.tool} manager={m} prefix />
        ))}
        <Skeleton width={120} />
      </Panel>
      <Panel title="Beside">
        <Beside
          peek={
            peeks && (
              <Peek title="row 1" label="Peek" onClose={() => setPeeks(false)}>
                <Badge>details</Badge>
              </Peek>
            )
          }
        >
          <p>A list</p>
        </Beside>
      </Panel>
    </div>
  )
}
