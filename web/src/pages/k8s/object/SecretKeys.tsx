import { Eye, EyeOff } from 'lucide-react'
import { useEffect, useState } from 'react'
import { KubeError } from '../kube/KubeError'
import { type Place, getObject } from '../kube/calls'
import type { KubeObject } from '../kube/object'
import { textOfValue } from '../kube/secret'
import styles from './Object.module.css'
import { Button } from '#/ds/Button'
import { CopyButton } from '#/ds/Copy'
import { Panel } from '#/ds/Panel'
import { Table } from '#/ds/Table'
import { Muted } from '#/ds/Text'

const shownFor = 30_000

// SecretKeys shows which keys a Secret has. A value is read when a person presses
// Reveal, shown for 30 s, and kept nowhere else. The read is in the audit log.
export function SecretKeys({ place, object }: { place: Place; object: KubeObject }) {
  const keys = Object.entries((object['data'] ?? {}) as Record<string, string>)
  const [shown, setShown] = useState<{ key: string; value: string } | undefined>()
  const [busy, setBusy] = useState('')
  const [failed, setFailed] = useState<unknown>()
  const { name } = object.metadata
  useEffect(() => {
    if (!shown) return undefined
    const hide = () => setShown(undefined)
    const timer = setTimeout(hide, shownFor)
    const onHidden = () => document.visibilityState === 'hidden' && hide()
    document.addEventListener('visibilitychange', onHidden)
    return () => {
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', onHidden)
    }
  }, [shown])
  const reveal = async (key: string) => {
    setBusy(key)
    setFailed(undefined)
    try {
      const raw = await getObject(place, name, undefined, key)
      const base64 = String(raw['data']?.[key] ?? '')
      setShown({ key, value: textOfValue(base64) ?? `base64: ${base64}` })
    } catch (error) {
      setFailed(error)
    } finally {
      setBusy('')
    }
  }
  return (
    <Panel title="Data" flush aside="values are hidden">
      {failed !== undefined && <KubeError title="Can't read the value" error={failed} />}
      {keys.length === 0 ? (
        <p className={styles.message}>
          <Muted>This Secret has no keys.</Muted>
        </p>
      ) : (
        <Table label="Keys" head={['Key', 'Value', '']}>
          {keys.map(([key, mask]) => {
            const open = shown?.key === key
            return (
              <tr key={key} className={styles.keys}>
                <td>
                  <code>{key}</code>
                </td>
                <td>
                  {open ? (
                    <div className={styles.value}>
                      <pre>{shown.value}</pre>
                      <CopyButton text={shown.value} label={`Copy ${key}`} />
                    </div>
                  ) : (
                    <Muted>{mask}</Muted>
                  )}
                </td>
                <td>
                  {open ? (
                    <Button icon={EyeOff} onClick={() => setShown(undefined)}>
                      Hide
                    </Button>
                  ) : (
                    <Button icon={Eye} busy={busy === key} aria-label={`Reveal ${key} for 30 seconds`} onClick={() => void reveal(key)}>
                      Reveal
                    </Button>
                  )}
                </td>
              </tr>
            )
          })}
        </Table>
      )}
    </Panel>
  )
}
