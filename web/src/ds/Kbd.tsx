import styles from './Kbd.module.css'

const mac = typeof navigator !== 'undefined' && /Mac|iPhone|iPad/.test(navigator.userAgent)
const shown: Record<string, string> = { mod: mac ? '⌘' : 'Ctrl', Escape: 'Esc', ArrowUp: '↑', ArrowDown: '↓', ArrowLeft: '←', ArrowRight: '→', Shift: '⇧', PageUp: 'PgUp', PageDown: 'PgDn', ' ': 'Space' }

export function keyParts(keys: string): string[] {
  return keys.split(/(?<!^)[ +](?!$)/).map((k) => shown[k] ?? k)
}

// Kbd shows keys of a binding, such as "mod+k" or "g c".
export function Kbd({ keys }: { keys: string }) {
  return (
    <span className={styles.keys}>
      {keyParts(keys).map((k) => (
        <kbd key={k} className={styles.key}>
          {k}
        </kbd>
      ))}
    </span>
  )
}
