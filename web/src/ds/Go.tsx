import { useRouter } from '@tanstack/react-router'
import type { AnchorHTMLAttributes, MouseEvent } from 'react'

interface Props extends Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href'> {
  // A path of the console, already encoded.
  to: string
}

// Go is a link that costs nearly nothing, for the cells of long lists: it knows
// no parameters, is never active and loads nothing ahead.
export function Go({ to, children, ...rest }: Props) {
  const router = useRouter()
  const go = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || event.button !== 0) return
    event.preventDefault()
    router.history.push(to)
  }
  return (
    <a {...rest} href={to} onClick={go}>
      {children}
    </a>
  )
}
