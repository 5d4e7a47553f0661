import type { LucideIcon } from 'lucide-react'
import type { ButtonHTMLAttributes, Ref } from 'react'
import styles from './Button.module.css'

export type Variant = 'primary' | 'plain' | 'quiet' | 'danger'

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  variant?: Variant
  icon?: LucideIcon | undefined
  // Waits for an answer: disabled, and says so.
  busy?: boolean
  // Shows the key that does the same.
  keys?: string | undefined
  ref?: Ref<HTMLButtonElement>
}

export function Button({ variant = 'plain', icon: Icon, busy, keys, className, children, disabled, type = 'button', ...rest }: Props) {
  return (
    // oxlint-disable-next-line react/button-has-type
    <button {...rest} type={type} className={`${buttonClass(variant)} ${className ?? ''}`} disabled={disabled || busy} aria-busy={busy || undefined}>
      {Icon && <Icon size={14} aria-hidden />}
      {children}
      {keys && <kbd className={styles.keys} aria-hidden>{keys}</kbd>}
    </button>
  )
}

// buttonClass makes a link look like a button.
export function buttonClass(variant: Variant = 'plain'): string {
  return `${styles.button} ${styles[variant]}`
}

interface IconProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'children'> {
  icon: LucideIcon
  // What it does; also shown on hover.
  label: string
  ref?: Ref<HTMLButtonElement>
}

export function IconButton({ icon: Icon, label, className, ...rest }: IconProps) {
  return (
    <button type="button" title={label} {...rest} aria-label={label} className={`${styles.icon} ${className ?? ''}`}>
      <Icon size={16} aria-hidden />
    </button>
  )
}
