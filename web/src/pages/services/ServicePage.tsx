import { Empty } from '#/ds/State'
import { PageHeader } from '#/ds/PageHeader'

export function Page() {
  return (
    <>
      <PageHeader title="Service" />
      <Empty title="This page is not there yet" />
    </>
  )
}
