import type { ErrorComponentProps } from '@tanstack/react-router'
import { ErrorPanel } from '#/ds/State'
import { PageHeader } from '#/ds/PageHeader'
import { toast } from '#/ds/toast'

// What browsers, and Vite, say of a file that does not come.
const unloaded = /dynamically imported module|Importing a module|Unable to preload CSS/

// PageError shows a mistake of the console itself, or that a part of it could not be
// loaded: the hub is away, or was upgraded meanwhile.
export function PageError({ error, reset }: ErrorComponentProps) {
  const missing = unloaded.test(String(error))
  return (
    <>
      <PageHeader title={missing ? 'This page could not be loaded' : 'This page failed'} />
      <ErrorPanel title={missing ? 'A part of the console did not come' : 'The console made a mistake'} error={error} retry={missing ? () => void reload() : reset}>
        {missing && <p>The hub is away, or it has a newer console than this tab. Retry loads the page again once the hub answers.</p>}
      </ErrorPanel>
    </>
  )
}

// reload keeps this page, which still knows something, while the hub is away.
async function reload(): Promise<void> {
  try {
    await fetch('/login/session', { signal: AbortSignal.timeout(10_000) })
  } catch {
    toast('The hub does not answer yet')
    return
  }
  location.reload()
}
