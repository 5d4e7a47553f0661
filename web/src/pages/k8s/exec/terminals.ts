import { createElement } from 'react'
import { Session, type Target } from './session'
import { TerminalPane } from './TerminalPane'
import { openInDock } from '#/app/dock'
import type { TerminalHandle } from '#/ds/terminal/terminal'

export interface OpenTerminal {
  session: Session
  // Why this is production, if it is: shown in red.
  prod: string | undefined
  // What the session prints goes here; before there is one, it is kept.
  attach: (terminal: TerminalHandle) => void
  restart: () => void
  subscribe: (listener: () => void) => () => void
}

let last = 0

// openTerminal opens a shell in the dock, where it outlives the page.
export function openTerminal(target: Target, prod: string | undefined): void {
  const id = `terminal ${++last}`
  let terminal: TerminalHandle | undefined
  let waiting: Uint8Array[] = []
  const listeners = new Set<() => void>()
  const output = (data: Uint8Array) => {
    if (terminal) terminal.write(data)
    else waiting.push(data)
  }
  const start = () => {
    const session = new Session(target, output)
    void session.open()
    return session
  }
  const it: OpenTerminal = {
    session: start(),
    prod,
    attach: (t) => {
      terminal = t
      for (const data of waiting) t.write(data)
      waiting = []
      const { columns, rows } = t.size()
      it.session.resize(columns, rows)
    },
    restart: () => {
      it.session.close()
      it.session = start()
      if (terminal) {
        const { columns, rows } = terminal.size()
        it.session.resize(columns, rows)
        terminal.write('\r\n')
        terminal.focus()
      }
      for (const listener of listeners) listener()
    },
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
  openInDock({ id, title: `${target.pod} · ${target.container}`, Content: () => createElement(TerminalPane, { it }), onClose: () => it.session.close() })
}
