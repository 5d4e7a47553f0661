import { useEffect, useState } from 'react'
import { type Selection, nobody } from './select'

// Where a list was left: Back goes there again. Each entry of the browser's history has
// a place of its own; the same list opened anew begins at its top.
interface Place {
  // Rows above the first one that shows, and the row that has the focus.
  top: number
  active: number
  selection: Selection
}

const most = 100
const places = new Map<string, Partial<Place>>()

// keyOf is of this entry of the history, which the router names; undefined without a router.
function keyOf(path: string, label: string): string | undefined {
  const name = (window.history.state as Record<string, string> | null)?.['__TSR_key']
  return name && `${name} ${path} ${label}`
}

// usePlace returns where the list was left, and a function that notes where it is now.
export function usePlace(label: string): { left: Partial<Place>; note: (change: Partial<Place>) => void } {
  const [path] = useState(window.location.pathname)
  const [left] = useState(() => places.get(keyOf(path, label) ?? '') ?? {})
  const [note] = useState(() => {
    // All of it each time: a changed filter is another entry of the history.
    const now: Partial<Place> = { ...left }
    return (change: Partial<Place>) => {
      Object.assign(now, change)
      // Something else is opened already.
      const key = keyOf(path, label)
      if (!key || window.location.pathname !== path) return
      places.delete(key)
      places.set(key, { ...now })
      const oldest = places.keys().next().value
      if (places.size > most && oldest !== undefined) places.delete(oldest)
    }
  })
  return { left, note }
}

// useSelection is which rows are selected, and still are after Back. Of another list, such
// as one with another filter, none is.
export function useSelection(label: string, of: string): [Selection, (s: Selection) => void] {
  const { left, note } = usePlace(`${label} selection`)
  const [selection, setSelection] = useState<Selection>(left.selection ?? nobody)
  const [list, setList] = useState(of)
  if (list !== of) {
    setList(of)
    setSelection(nobody)
  }
  useEffect(() => note({ selection }))
  return [selection, setSelection]
}
