import type { ErrorComponentProps } from '@tanstack/react-router'
import { ErrorPanel } from '#/ds/State'
import { PageHeader } from '#/ds/PageHeader'

// PageError shows a mistake of the console itself, or a part of it that could
// not be loaded because the hub was upgraded meanwhile.
export function PageError({ error, reset }: ErrorComponentProps) {
  const outdated = /dynamically imported module|Importing a module/.test(String(error))
  return (
    <>
      <PageHeader title="This page failed" />
      <ErrorPanel title={outdated ? 'The hub has a newer console than this tab' : 'The console made a mistake'} error={error} retry={outdated ? () => location.reload() : reset} />
    </>
  )
}
