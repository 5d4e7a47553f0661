import { Empty } from '#/ds/State'
import { PageHeader } from '#/ds/PageHeader'

export function Page() {
  return (
    <>
      <PageHeader title="Clusters" />
      <Empty title="This page is not there yet" />
    </>
  )
}
