import { Empty } from '#/ds/State'

export function Page() {
  return (
    <>
      <p hidden />
      <Empty title="This page is not there yet" />
    </>
  )
}
