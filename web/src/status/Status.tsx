import { Age } from './Age'
import styles from './Status.module.css'
import { labelOf, wordOf } from './words'

interface Props {
  word: string
  // When it was last known, in microseconds; shows an age.
  at?: bigint | undefined
  // The last value of a silent agent: dimmed.
  dim?: boolean | undefined
  // More about it, on hover.
  title?: string | undefined
  // A coloured background.
  chip?: boolean | undefined
  // Replaces the word.
  label?: string | undefined
}

// Status is icon, word and tone, never one without the others.
export function Status({ word, at, dim, title, chip, label }: Props) {
  const { tone, icon: Icon, meaning } = wordOf(word)
  return (
    <span className={styles.status} data-tone={tone} data-dim={dim || undefined} data-chip={chip || undefined} title={title ?? meaning}>
      <Icon size={14} aria-hidden className={styles.icon} data-turns={word === 'Progressing' || word === 'Applying' || word === 'Running' || undefined} />
      <span className={styles.word}>{label ?? labelOf(word)}</span>
      {at !== undefined && at > 0n && (
        <span className={styles.age}>
          <Age at={at} />
        </span>
      )}
    </span>
  )
}

// StatusIcon is for where the word stands beside it already.
export function StatusIcon({ word, size = 14 }: { word: string; size?: number }) {
  const { tone, icon: Icon } = wordOf(word)
  return <Icon size={size} aria-hidden className={styles.lone} data-tone={tone} />
}
