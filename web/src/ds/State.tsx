import { CircleX, RotateCw, ShieldAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { Button, buttonClass } from './Button'
import { CopyButton } from './Copy'
import styles from './State.module.css'
import { problemOf } from '#/api/errors'
import { proveHref } from '#/api/session'

interface ErrorProps {
  // What failed: "Can't read the services".
  title: string
  error: unknown
  retry?: (() => void) | undefined
  // Proving who one is happens in another tab, so that what was typed stays.
  newTab?: boolean
  children?: ReactNode
}

// ErrorPanel says what failed in the hub's own words, and stays until it works.
export function ErrorPanel({ title, error, retry, newTab, children }: ErrorProps) {
  const problem = problemOf(error)
  const Icon = problem.prove ? ShieldAlert : CircleX
  const whole = [title, problem.message, `code: ${problem.code}`, problem.requestId && `request: ${problem.requestId}`].filter(Boolean).join('\n')
  return (
    <div className={styles.error} role="alert">
      <Icon size={16} aria-hidden className={styles.icon} />
      <div className={styles.text}>
        <p className={styles.title}>{title}</p>
        <p className={styles.message}>{problem.message}</p>
        <p className={styles.fine}>
          {problem.code}
          {problem.requestId && <> · request {problem.requestId}</>}
          {problem.managedBy && <> · managed by {problem.managedBy}</>}
          {problem.retryAfter && <> · try again in {problem.retryAfter} s</>}
        </p>
        {children}
        <div className={styles.actions}>
          {problem.prove && (
            <a className={buttonClass('primary')} href={newTab ? '/login/again' : proveHref()} {...(newTab ? { target: '_blank', rel: 'noopener' } : {})}>
              Confirm that it is you
            </a>
          )}
          {retry && (
            <Button icon={RotateCw} onClick={retry}>
              Retry
            </Button>
          )}
          <CopyButton text={whole} label="Copy the error" />
        </div>
      </div>
    </div>
  )
}

interface EmptyProps {
  title: string
  children?: ReactNode
  actions?: ReactNode
}

// Empty says why nothing is here, and what to do next.
export function Empty({ title, children, actions }: EmptyProps) {
  return (
    <div className={styles.empty}>
      <p className={styles.emptyTitle}>{title}</p>
      {children && <div className={styles.emptyText}>{children}</div>}
      {actions && <div className={styles.actions}>{actions}</div>}
    </div>
  )
}

// Banner is one line over a page or panel about something that goes on.
export function Banner({ tone, icon: Icon, children, actions }: { tone: 'warn' | 'bad' | 'busy' | 'idle' | 'stale'; icon?: typeof CircleX; children: ReactNode; actions?: ReactNode }) {
  return (
    <div className={styles.banner} data-tone={tone} role="status">
      {Icon && <Icon size={16} aria-hidden className={styles.icon} />}
      <div className={styles.bannerText}>{children}</div>
      {actions}
    </div>
  )
}
