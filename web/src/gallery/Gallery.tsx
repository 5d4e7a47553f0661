import { ConnectError, Code } from '@connectrpc/connect'
import { Plus, WifiOff } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import styles from './Gallery.module.css'
import { Charts } from './Charts'
import { Lists } from './Lists'
import { Button, IconButton } from '#/ds/Button'
import { Command, CopyButton } from '#/ds/Copy'
import { Dialog } from '#/ds/Dialog'
import { Diff } from '#/ds/Diff'
import { Checkbox, Segmented, Select, TextArea, TextField } from '#/ds/Form'
import { Kbd } from '#/ds/Kbd'
import { MenuButton } from '#/ds/Menu'
import { PageHeader } from '#/ds/PageHeader'
import { Panel } from '#/ds/Panel'
import { SkeletonLines } from '#/ds/Skeleton'
import { Banner, Empty, ErrorPanel } from '#/ds/State'
import { Badge, Facts, Hash, Middle, Tag } from '#/ds/Text'
import { DataGrid } from '#/grid/DataGrid'
import type { Column } from '#/grid/layout'
import { useArray } from '#/grid/useArray'
import { Age } from '#/status/Age'
import { Status } from '#/status/Status'
import { knownWords } from '#/status/words'

const tones = ['idle', 'good', 'busy', 'warn', 'bad', 'stale'] as const
const rows = Array.from({ length: 10_000 }, (_, i) => ({ id: `r${i}`, name: `row ${i}`, word: knownWords[i % knownWords.length]! }))
const at = BigInt(Date.now() - 14 * 60_000) * 1000n

const columns: Column<(typeof rows)[number]>[] = [
  { id: 'status', header: 'Status', min: 140, cell: (r) => <Status word={r.word} /> },
  { id: 'name', header: 'Name', min: 160, grow: 1, cell: (r) => r.name },
]

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Panel title={title}>
      <div className={styles.part}>{children}</div>
    </Panel>
  )
}

// Page shows every component in its states, for people who change one.
export function Page() {
  const [text, setText] = useState('')
  const [on, setOn] = useState(true)
  const [choice, setChoice] = useState('a')
  const [open, setOpen] = useState(false)
  const source = useArray(rows)
  return (
    <>
      <PageHeader title="Gallery" />
      <div className={styles.parts}>
        <Part title="Status">
          {knownWords.map((word) => (
            <Status key={word} word={word} />
          ))}
          <Status word="Stale" at={at} />
          <Status word="Healthy" dim at={at} />
          <Status word="SomethingNew" />
        </Part>
        <Part title="Chips and badges">
          {knownWords.slice(0, 14).map((word) => (
            <Status key={word} word={word} chip />
          ))}
          {tones.map((tone) => (
            <Badge key={tone} tone={tone}>
              {tone}
            </Badge>
          ))}
          <Tag>tier=prod</Tag>
          <Hash revision="b5f20faa0e04213ea9d72c1632d671cd4e97ed81" />
          <Age at={at} after="ago" />
          <Kbd keys="mod+k" />
          <Kbd keys="g c" />
          <div className={styles.short}>
            <Middle text="a-very-long-name-of-a-deployment-7f9c6d5b48-x2x9z" />
          </div>
        </Part>
        <Part title="Buttons">
          <Button variant="primary" icon={Plus}>
            Primary
          </Button>
          <Button>Plain</Button>
          <Button variant="quiet" keys="r">
            Quiet
          </Button>
          <Button variant="danger">Danger</Button>
          <Button busy>Busy</Button>
          <IconButton icon={Plus} label="Add" />
          <CopyButton text="copied" />
          <MenuButton label="Menu" items={[{ id: 'a', label: 'First' }, { id: 'b', label: 'Not now', disabled: 'It is paused' }, { id: 'c', label: 'Delete', danger: true, apart: true }]}>
            Menu
          </MenuButton>
          <Button onClick={() => setOpen(true)}>Dialog</Button>
        </Part>
        <Part title="Forms">
          <TextField label="Name" value={text} hint="Lower-case letters." onChange={setText} />
          <TextField label="Wrong" value={text} problem="“x” is not KEY=VALUE" onChange={setText} />
          <TextArea label="Reason" value={text} onChange={setText} />
          <Select label="Project" value="a" options={[{ value: 'a', label: 'default' }]} onChange={() => {}} />
          <Checkbox label="Only problems" checked={on} onChange={setOn} />
          <Segmented label="View" value={choice} options={[{ value: 'a', label: 'List' }, { value: 'b', label: 'Heat map' }]} onChange={setChoice} />
        </Part>
        <Part title="States">
          {tones.filter((t) => t !== 'good').map((tone) => (
            <Banner key={tone} tone={tone} icon={WifiOff}>
              <strong>Banner.</strong> One line about something that goes on.
            </Banner>
          ))}
          <ErrorPanel title="Can't read the services" error={new ConnectError('the hub does not know "prod"; axle clusters list shows the clusters', Code.NotFound)} retry={() => {}} />
          <ErrorPanel title="It was not deleted" error={new ConnectError('this needs your password or passkey again, from the last 10 minutes: open /login/again in the browser, then repeat it', Code.PermissionDenied)} />
          <SkeletonLines />
          <Empty title="No services match" actions={<Button>Clear the filter</Button>}>
            1,104 services hidden by the filter.
          </Empty>
        </Part>
        <Part title="Text">
          <Command command="axle clusters connect eu-prod-1 --tag tier=prod" />
          <Command command={'kubectl apply -f - <<EOF\nkind: Namespace\nEOF'} />
          <Facts facts={[{ label: 'Version', value: '1.4.2' }, { label: 'Polls every', value: '2 m' }, { label: 'Tags', value: <Tag>tier=prod</Tag>, wide: true }]} />
          <Diff label="Deployment web" before={'spec:\n  replicas: 2\n  paused: false'} after={'spec:\n  replicas: 3\n  paused: false'} />
        </Part>
      </div>
      <Lists />
      <Charts />
      <DataGrid
        label="Many rows"
        source={source}
        maxHeight={420}
        idOf={(r) => r.id}
        columns={columns}
        empty={null}
      />
      {open && (
        <Dialog title="A dialog" onClose={() => setOpen(false)} actions={<Button onClick={() => setOpen(false)}>Close</Button>}>
          <p>The consequence, before it is done.</p>
        </Dialog>
      )}
    </>
  )
}
