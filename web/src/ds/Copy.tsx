import { Check, Copy as CopyIcon } from 'lucide-react'
import { useEffect, useState } from 'react'
import { Button, IconButton } from './Button'
import styles from './Copy.module.css'

function useCopy(text: string): [boolean, () => void] {
  const [copied, setCopied] = useState(false)
  useEffect(() => {
    if (!copied) return undefined
    const timer = setTimeout(() => setCopied(false), 1_500)
    return () => clearTimeout(timer)
  }, [copied])
  return [
    copied,
    () => {
      void copyText(text).then(() => setCopied(true))
    },
  ]
}

// copyText also works on plain HTTP, where the page has no clipboard API.
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  area.className = 'visually-hidden'
  document.body.append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
}

export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [copied, copy] = useCopy(text)
  return <IconButton icon={copied ? Check : CopyIcon} label={copied ? 'Copied' : label} onClick={copy} />
}

interface CommandProps {
  // One command or a whole script.
  command: string
  // What it is, for people who hear the page.
  label?: string
  // Only the first lines are shown; everything is copied.
  maxLines?: number
}

// Command is text for a terminal, with a button that copies it.
export function Command({ command, label = `Command ${command.slice(0, 60)}`, maxLines }: CommandProps) {
  const [copied, copy] = useCopy(command)
  const lines = command.split('\n')
  const long = lines.length > 1
  const shown = maxLines && lines.length > maxLines ? `${lines.slice(0, maxLines).join('\n')}\n… ${lines.length - maxLines} more lines` : command
  return (
    <div className={styles.command} data-long={long || undefined}>
      {/* A scrollable region must be reachable by keyboard. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre tabIndex={0} aria-label={label} role="region">
        <code>{shown}</code>
      </pre>
      <Button variant="quiet" icon={copied ? Check : CopyIcon} onClick={copy} className={styles.copy}>
        {copied ? 'Copied' : 'Copy'}
      </Button>
      <span role="status" className="visually-hidden">
        {copied ? 'Copied to the clipboard' : ''}
      </span>
    </div>
  )
}
