import { Empty } from '#/ds/State'
import { PageHeader } from '#/ds/PageHeader'

export function Page() {
  return (
    <>
      <PageHeader title="Add a cluster" />
      <Empty title="This page is not there yet" />
    </>
  )
}
