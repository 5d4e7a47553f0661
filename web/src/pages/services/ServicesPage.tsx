import { DeployButton } from './DeployButton'
import { ServiceList } from './ServiceList'
import { PageHeader } from '#/ds/PageHeader'

export function Page() {
  return (
    <>
      <PageHeader title="Services" actions={<DeployButton main />} />
      <ServiceList />
    </>
  )
}
