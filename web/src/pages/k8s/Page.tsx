import { Empty } from '#/ds/State'

export function Page() {
  return <Empty title="This page is not there yet" />
}
