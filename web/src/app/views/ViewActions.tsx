import type { Dispatch, RefObject, SetStateAction } from 'react'
import { ViewDialog } from './ViewDialog'
import { refusal, setMyViews } from './change'
import { type Place, type View, myViews } from './views'
import { type Item, MenuAt } from '#/ds/Menu'
import { toast } from '#/ds/toast'

type Open = 'menu' | 'save' | 'rename' | undefined

interface Props {
  open: Open
  onOpen: Dispatch<SetStateAction<Open>>
  // What the list shows, and the view that it is or was.
  place: Place
  view: View | undefined
  changed: boolean
  suggest: () => string
  button: RefObject<HTMLButtonElement | null>
  // The list shows the view of this name from now on.
  onName: (name: string) => void
}

function keep(views: View[], said?: string): void {
  if (!setMyViews(views)) toast('The browser stores nothing for this site: your views last as long as this page.')
  else if (said) toast(said)
}

// ViewActions is what ViewControl opens.
export function ViewActions({ open, onOpen, place, view, changed, suggest, button, onName }: Props) {
  const close = () => onOpen(undefined)
  const undoable = (said: string, undo: () => void) =>
    toast(said, {
      label: 'Undo',
      run: () => {
        undo()
        // The notice is gone, and the focus with it.
        ;(button.current ?? document.getElementById('main'))?.focus()
      },
    })
  const save = (name: string) => {
    keep([...myViews(), { name, ...place }], `“${name}” is saved, and in the navigation`)
    onName(name)
  }
  if (open === 'save') return <ViewDialog name={suggest()} onSave={save} opener={button} onClose={close} />
  if (!view) return null
  // Another tab may have changed the others.
  const replace = (now: View) => myViews().map((v) => (v.name === view.name ? now : v))
  const rename = (name: string) => {
    keep(replace({ ...view, name }), `“${view.name}” is called “${name}” now`)
    onName(name)
  }
  if (open === 'rename') return <ViewDialog name={view.name} from={view.name} onSave={rename} opener={button} onClose={close} />
  const update = () => {
    keep(replace({ ...view, ...place }))
    undoable(`“${view.name}” is what the list shows now`, () => keep(replace(view)))
  }
  const remove = () => {
    const views = myViews()
    const at = views.findIndex((v) => v.name === view.name)
    keep(views.toSpliced(at, 1))
    undoable(`The view “${view.name}” is removed`, () => {
      const why = refusal(myViews(), view.name)
      if (why) toast(why)
      else keep(myViews().toSpliced(at, 0, view))
    })
  }
  const items: Item[] = [
    ...(changed
      ? [
          { id: 'update', label: `Update “${view.name}”`, run: update },
          { id: 'save', label: 'Save as another view…', run: () => onOpen('save') },
        ]
      : []),
    { id: 'rename', label: 'Rename…', run: () => onOpen('rename') },
    { id: 'remove', label: 'Remove', danger: true, run: remove },
  ]
  // The menu closes after what it does: that may be to open a dialog.
  return <MenuAt label={`View ${view.name}`} items={items} at={button} onClose={() => onOpen((now) => (now === 'menu' ? undefined : now))} />
}
