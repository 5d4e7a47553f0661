import { type RefObject, useEffect, useState } from 'react'
import { fullOf, refusal } from './change'
import { longest, most, tidy, useViews } from './views'
import { ActionDialog } from '#/ds/ActionDialog'
import { Button } from '#/ds/Button'
import { Dialog } from '#/ds/Dialog'
import { TextField } from '#/ds/Form'

interface Props {
  // What is in the field at first.
  name: string
  // The view that is renamed; a new one without.
  from?: string
  onSave: (name: string) => void
  // Has the focus afterwards: the menu that this was chosen from is gone.
  opener: RefObject<HTMLElement | null>
  onClose: () => void
}

// ViewDialog asks for the name of a view.
export function ViewDialog({ name, from, onSave, opener, onClose }: Props) {
  const views = useViews()
  const [text, setText] = useState(name)
  // After the dialog tried the same, with an item of that menu.
  useEffect(() => () => void requestAnimationFrame(() => opener.current?.focus()), [opener])
  if (from === undefined && views.length >= most) {
    return (
      <Dialog title="Save view" onClose={onClose} actions={<Button onClick={onClose}>Close</Button>}>
        <p>{fullOf(views)}</p>
      </Dialog>
    )
  }
  return (
    <ActionDialog title={from === undefined ? 'Save view' : 'Rename view'} submit={from === undefined ? 'Save' : 'Rename'} check={() => refusal(views, text, from)} run={async () => onSave(tidy(text))} onClose={onClose}>
      <TextField label="Name" value={text} onChange={setText} maxLength={longest} autoFocus onFocus={(e) => e.target.select()} autoComplete="off" />
      {from === undefined && <p>The view is the address of this list, with its filter, order and columns. It is kept in this browser, for you. To share it, send its link.</p>}
    </ActionDialog>
  )
}
