import type { ReactNode } from 'react'
import styles from './Text.module.css'

// Middle keeps both ends of a long name or hash visible.
export function Middle({ text, tail = 8 }: { text: string; tail?: number }) {
  if (text.length <= tail * 2) return <span className={styles.whole} title={text}>{text}</span>
  return (
    <span className={styles.middle} title={text}>
      <span className={styles.start}>{text.slice(0, -tail)}</span>
      <span className={styles.end}>{text.slice(-tail)}</span>
    </span>
  )
}

// short is a commit or digest as people say it.
export function short(revision: string): string {
  return /^[0-9a-f]{12,}$/.test(revision) ? revision.slice(0, 7) : /^(axle1|sha256):/.test(revision) ? revision.slice(0, 14) : revision
}

// person is an author without the address: "Ada Author <ada@example.com>".
export function person(author: string): string {
  return author.replace(/\s*<.*>$/, '')
}

export function Hash({ revision }: { revision: string }) {
  return revision ? (
    <code className={styles.hash} title={revision}>
      {short(revision)}
    </code>
  ) : (
    <span className={styles.none}>none</span>
  )
}

export function Muted({ children }: { children: ReactNode }) {
  return <span className={styles.muted}>{children}</span>
}

// Tag is a label with a neutral outline: environments and tags never get a hue.
export function Tag({ children, title }: { children: ReactNode; title?: string }) {
  return (
    <span className={styles.tag} title={title}>
      {children}
    </span>
  )
}

export function Badge({ children, tone = 'idle' }: { children: ReactNode; tone?: 'idle' | 'good' | 'warn' | 'bad' | 'busy' | 'stale' }) {
  return (
    <span className={styles.badge} data-tone={tone}>
      {children}
    </span>
  )
}

export interface Fact {
  label: string
  value: ReactNode
  // Takes the whole width.
  wide?: boolean
}

// Facts are names with values, as a grid of columns.
export function Facts({ facts }: { facts: Fact[] }) {
  return (
    <dl className={styles.facts}>
      {facts.map((f) => (
        <div key={f.label} className={styles.fact} data-wide={f.wide || undefined}>
          <dt>{f.label}</dt>
          <dd>{f.value}</dd>
        </div>
      ))}
    </dl>
  )
}

const whole = new Intl.NumberFormat('en-GB')

export function count(n: number | bigint): string {
  return whole.format(n)
}

// many puts a number before its noun: "1 cluster", "1,104 clusters".
export function many(n: number | bigint, noun: string, plural = `${noun}s`): string {
  return `${whole.format(n)} ${Number(n) === 1 ? noun : plural}`
}
