import { KubeError } from '../kube/KubeError'
import { type Refusal, refusalOf } from '../kube/errors'
import styles from './Object.module.css'
import { Mistake } from './edit'
import { Button } from '#/ds/Button'
import { Banner } from '#/ds/State'

export const refusalTitles: Record<Refusal, string> = {
  conflict: 'Conflict: somebody changed this object meanwhile. Your text is kept.',
  forbidden: 'Forbidden: you may not change this object. Your text is kept.',
  invalid: 'Invalid: the API server does not accept this object. Your text is kept.',
  webhook: 'Denied by admission: a policy of this cluster refuses it. Your text is kept.',
  missing: 'The object is not there any more. Your text is kept.',
  unreachable: 'The cluster could not be reached. Your text is kept.',
  other: 'It was not written. Your text is kept.',
}

interface Props {
  error: unknown
  // The live object is another version than the edited one.
  moved: boolean
  onLine: (line: number) => void
  onCompare: () => void
  onRebase: () => void
}

export function WriteRefused({ error, moved, onLine, onCompare, onRebase }: Props) {
  if (error instanceof Mistake) {
    return (
      <Banner tone="bad" actions={<Button onClick={() => onLine(error.mistake.line)}>Go to line {error.mistake.line}</Button>}>
        {error.message}
      </Banner>
    )
  }
  const refusal = refusalOf(error)
  return (
    <KubeError title={refusalTitles[refusal]} error={error}>
      {refusal === 'conflict' && (
        <div className={styles.bar}>
          <Button disabled={!moved} onClick={onCompare}>
            Show what changed
          </Button>
          <Button disabled={!moved} onClick={onRebase}>
            Put my text onto the new version
          </Button>
        </div>
      )}
    </KubeError>
  )
}
