import { useRouterState } from '@tanstack/react-router'
import { Bookmark, BookmarkCheck, ChevronDown } from 'lucide-react'
import { Suspense, lazy, useRef, useState } from 'react'
import styles from './ViewControl.module.css'
import { isPlain, keyOf, placeOf, useViews } from './views'
import { buttonClass } from '#/ds/Button'

const ViewActions = lazy(() => import('./ViewActions').then((m) => ({ default: m.ViewActions })))

// ViewControl saves what a list shows as a view. On a view it says its name, and it goes
// on with that name while the filter is changed, so that the view can be updated.
export function ViewControl({ suggest }: { suggest: () => string }) {
  const place = placeOf(useRouterState({ select: (s) => s.location.href }))
  const views = useViews()
  const button = useRef<HTMLButtonElement>(null)
  const [open, setOpen] = useState<'menu' | 'save' | 'rename'>()
  const [left, setLeft] = useState<string>()
  if (!place) return null
  const here = views.find((v) => keyOf(v) === keyOf(place))
  const plain = isPlain(place)
  // The view that was opened last, until the list shows all again.
  const last = here?.name ?? (plain ? undefined : left)
  if (last !== left) setLeft(last)
  const view = here ?? views.find((v) => v.name === last)
  if (plain && !here) return null
  const Icon = here ? BookmarkCheck : Bookmark
  // One button in all states: it keeps the focus.
  return (
    <>
      <button ref={button} type="button" className={`${buttonClass()} ${styles.control}`} title={view?.name} aria-haspopup={view ? 'menu' : 'dialog'} aria-expanded={view ? open === 'menu' : undefined} onClick={() => setOpen(view ? 'menu' : 'save')}>
        <Icon size={14} aria-hidden />
        {view ? (
          <>
            <span className="visually-hidden">View:</span>
            <span className={styles.name}>{view.name}</span>
            {!here && <span className={styles.changed}>changed</span>}
            <ChevronDown size={14} aria-hidden />
          </>
        ) : (
          'Save view'
        )}
      </button>
      {open && (
        <Suspense fallback={null}>
          <ViewActions open={open} onOpen={setOpen} place={place} view={view} changed={!here} suggest={suggest} button={button} onName={setLeft} />
        </Suspense>
      )}
    </>
  )
}
