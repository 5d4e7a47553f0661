import { useLayoutEffect, useRef } from 'react'
import { type Binding, addScope } from './keys'

// useKeys binds keys while the component is on the screen, from the moment that it
// shows: no key that is pressed once it shows is lost. The bindings may be new
// functions at every render.
export function useKeys(name: string, bindings: Binding[], enabled = true): void {
  const latest = useRef(bindings)
  useLayoutEffect(() => {
    latest.current = bindings
  })
  const shape = bindings.map((b) => `${b.keys}\n${b.does}`).join('\n\n')
  useLayoutEffect(() => {
    if (!enabled) return undefined
    return addScope({
      name,
      bindings: latest.current.map((b, i) => ({ ...b, run: (event: KeyboardEvent) => latest.current[i]?.run(event) })),
    })
  }, [name, shape, enabled])
}
