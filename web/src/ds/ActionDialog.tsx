import { CircleX } from 'lucide-react'
import { type FormEvent, type ReactNode, useId, useState } from 'react'
import { Button } from './Button'
import { Dialog } from './Dialog'
import { Banner, ErrorPanel } from './State'
import { problemOf } from '#/api/errors'

interface Props {
  title: string
  // What will happen, who loses what, and how to undo it; or the form.
  children: ReactNode
  // What the button does: "Delete the user".
  submit: string
  danger?: boolean
  wide?: boolean
  // Does it. takeOver is true when the person took the object over from the
  // tool that manages it. The dialog closes when it is done.
  run: (takeOver: boolean) => Promise<unknown>
  // The hub allows this write to take the object over.
  takeOver?: boolean
  onClose: () => void
  // The form is checked here first; a text is shown instead of a call.
  check?: () => string | undefined
}

// In a long form, what is wrong stands below what is seen. Tests have no layout.
const intoView = (element: HTMLElement | null) => element?.scrollIntoView?.({ block: 'nearest' })

// ActionDialog asks before something is done, and stays with the hub's words
// when that fails. What was typed is kept. An object that a tool manages can be
// taken over in a second step, never by accident.
export function ActionDialog({ title, children, submit, danger, wide, run, takeOver, onClose, check }: Props) {
  const form = useId()
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const [wrong, setWrong] = useState<string>()
  const problem = error === undefined ? undefined : problemOf(error)
  const owned = takeOver === true && problem?.managedBy !== undefined && !problem.managedBy.startsWith('hub')
  const go = async (take: boolean) => {
    const bad = check?.()
    setWrong(bad)
    if (bad) return
    setBusy(true)
    setError(undefined)
    try {
      await run(take)
      onClose()
    } catch (e) {
      setError(e)
      setBusy(false)
    }
  }
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    if (!busy) void go(false)
  }
  return (
    <Dialog
      title={title}
      onClose={onClose}
      wide={wide ?? false}
      alert={danger ?? false}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          {owned && (
            <Button variant="danger" busy={busy} onClick={() => void go(true)}>
              Take over and {submit.charAt(0).toLowerCase() + submit.slice(1)}
            </Button>
          )}
          <Button type="submit" form={form} variant={danger ? 'danger' : 'primary'} busy={busy}>
            {submit}
          </Button>
        </>
      }
    >
      <form id={form} onSubmit={onSubmit} noValidate style={{ display: 'contents' }}>
        {children}
      </form>
      {wrong && (
        <div ref={intoView}>
          <Banner tone="bad" icon={CircleX}>
            {wrong}
          </Banner>
        </div>
      )}
      {problem && (
        <div ref={intoView}>
          <ErrorPanel title="Not done" error={error} newTab>
            {problem.prove && <p>It opens in a new tab. Come back here and repeat: what you typed stays.</p>}
            {owned && <p>Taking over makes people its manager: {problem.managedBy} no longer changes it, and reports a conflict instead.</p>}
            {problem.managedBy?.startsWith('hub') && <p>The hub made it for a global service or a managed namespace. Change that instead; it cannot be taken over.</p>}
          </ErrorPanel>
        </div>
      )}
    </Dialog>
  )
}
