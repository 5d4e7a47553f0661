import { type Part, parts } from './licences'
import { useCall } from '#/api/call'
import { Sessions } from '#/api/gen/hub/v1/hub_pb'
import { Command } from '#/ds/Copy'
import { type Col, Listing } from '#/ds/Listing'
import { PageHeader } from '#/ds/PageHeader'
import { Panel } from '#/ds/Panel'
import { SkeletonLines } from '#/ds/Skeleton'
import { ErrorPanel } from '#/ds/State'
import { Facts } from '#/ds/Text'

const cols: Col<Part>[] = [
  { id: 'name', header: 'Package', grow: true, cell: (p) => p.name },
  { id: 'version', header: 'Version', cell: (p) => p.version },
  { id: 'licence', header: 'Licence', cell: (p) => p.licence },
]

export function Page() {
  const { data, error, refetch } = useCall(Sessions.method.whoAmI, {})
  return (
    <>
      <PageHeader title="About" />
      {error && <ErrorPanel title="Can't read the hub's version" error={error} retry={() => void refetch()} />}
      <Panel title="Axle">
        {data ? (
          <Facts
            facts={[
              { label: 'Hub and console', value: data.hubVersion },
              { label: 'Licence', value: 'Apache-2.0' },
              { label: 'Documentation', value: <a href="/docs/">of this version</a> },
              { label: 'Address', value: location.origin },
            ]}
          />
        ) : (
          !error && <SkeletonLines lines={1} />
        )}
      </Panel>
      <Panel title="For a bug report">
        <p>This writes what helps to find a fault into one file, without secrets:</p>
        <Command command="axle hub support-bundle" />
      </Panel>
      <Panel title="Components of the console" flush>
        <Listing label="Packages" cols={cols} rows={parts} idOf={(p) => p.name} empty={null} />
      </Panel>
    </>
  )
}
