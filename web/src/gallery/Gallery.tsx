import { PageHeader } from '#/ds/PageHeader'

export function Page() {
  return <PageHeader title="Gallery" />
}
