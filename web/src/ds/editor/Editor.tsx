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

// Editor shows and edits YAML. One that is edited begins with the text and keeps what
// a person wrote; setText changes it from outside.
export function Editor({ label, text, readOnly = false, onChange, ref }: Props) {
  const host = useRef<HTMLDivElement>(null)
  const handle = useRef<EditorHandle>(undefined)
  const latest = useRef({ label, text, onChange })
  const [{ ready, error }, setState] = useState<{ ready: boolean; error?: unknown }>({ ready: false })
  useEffect(() => {
    latest.current = { label, text, onChange }
  })
  useEffect(() => {
    let gone = false
    import('./editor').then(
      (module) => {
        if (gone || !host.current) return
        handle.current = module.mountEditor(host.current, { ...latest.current, readOnly })
        setState({ ready: true })
      },
      (failure: unknown) => !gone && setState({ ready: false, error: failure }),
    )
    return () => {
      gone = true
      handle.current?.destroy()
      handle.current = undefined
    }
  }, [readOnly])
  useEffect(() => {
    if (readOnly) handle.current?.setText(text)
  }, [readOnly, text])
  useImperativeHandle(ref, () => ({ goTo: (line) => handle.current?.goTo(line), setText: (next) => handle.current?.setText(next) }), [])
  return (
    <div className={styles.frame} data-readonly={readOnly || undefined}>
      {!ready && !error && <SkeletonLines lines={12} />}
      {error !== undefined && <ErrorPanel title="The editor could not be loaded" error={error} retry={() => location.reload()} />}
      <div ref={host} className={styles.host} hidden={!ready} data-keys={readOnly ? undefined : 'off'} />
    </div>
  )
}
