import { type Ref, useEffect, useImperativeHandle, useRef, useState } from 'react'
import { ErrorPanel } from '../State'
import { SkeletonLines } from '../Skeleton'
import styles from './Editor.module.css'
import type { EditorHandle } from './editor'

interface Props {
  label: string
  text: string
  readOnly?: boolean
  onChange?: (text: string) => void
  ref?: Ref<Pick<EditorHandle, 'goTo' | 'setText'>>
}

// useMounted loads the editor and keeps something of it in an element.
function useMounted<H extends { destroy: () => void }>(mount: (module: typeof import('./editor'), host: HTMLElement) => H, key: string) {
  const host = useRef<HTMLDivElement>(null)
  const handle = useRef<H>(undefined)
  const latest = useRef(mount)
  const [state, setState] = useState<{ ready: boolean; error?: unknown }>({ ready: false })
  useEffect(() => {
    latest.current = mount
  })
  useEffect(() => {
    let gone = false
    import('./editor').then(
      (module) => {
        if (gone || !host.current) return
        handle.current = latest.current(module, host.current)
        setState({ ready: true })
      },
      (error: unknown) => !gone && setState({ ready: false, error }),
    )
    return () => {
      gone = true
      handle.current?.destroy()
      handle.current = undefined
    }
  }, [key])
  return { host, handle, ...state }
}

// Editor shows and edits YAML. One that is edited begins with the text and keeps what
// a person wrote; setText changes it from outside.
export function Editor({ label, text, readOnly = false, onChange, ref }: Props) {
  const { host, handle, ready, error } = useMounted<EditorHandle>(
    (module, element) => module.mountEditor(element, { label, text, readOnly, onChange }),
    `${readOnly}`,
  )
  useEffect(() => {
    if (readOnly) handle.current?.setText(text)
  }, [handle, readOnly, text])
  useImperativeHandle(ref, () => ({ goTo: (line) => handle.current?.goTo(line), setText: (next) => handle.current?.setText(next) }), [handle])
  return (
    <div className={styles.frame} data-readonly={readOnly || undefined}>
      {!ready && !error && <SkeletonLines lines={12} />}
      {error !== undefined && <ErrorPanel title="The editor could not be loaded" error={error} retry={() => location.reload()} />}
      <div ref={host} className={styles.host} hidden={!ready} data-keys={readOnly ? undefined : 'off'} />
    </div>
  )
}

export function Diff({ label, before, after }: { label: string; before: string; after: string }) {
  const split = typeof matchMedia === 'function' && matchMedia('(min-width: 1200px)').matches
  const { host, ready, error } = useMounted((module, element) => module.mountDiff(element, { label, before, after, split }), `${split}\n${before}\n${after}`)
  return (
    <div className={styles.frame} data-readonly>
      {!ready && !error && <SkeletonLines lines={8} />}
      {error !== undefined && <ErrorPanel title="The comparison could not be loaded" error={error} retry={() => location.reload()} />}
      <div ref={host} className={styles.host} hidden={!ready} />
    </div>
  )
}
