import type { Operation } from '#/api/gen/hub/v1/operations_pb'
import { many } from '#/ds/Text'

const verbs: Record<string, string> = { sync: 'Sync', pause: 'Pause', resume: 'Resume', rollback: 'Roll back' }

type Said = Pick<Operation, 'action' | 'total' | 'done' | 'failed'>

// titleOf says what an operation does: "Sync of 37 services".
export function titleOf(o: Said): string {
  return `${verbs[o.action] ?? o.action} of ${many(o.total, 'service')}`
}

// progressOf says how far it is, failures first.
export function progressOf(o: Said): string {
  const left = o.total - o.done - o.failed
  return [o.failed > 0n && `${o.failed} failed`, `${o.done} done`, left > 0n && `${left} left`].filter(Boolean).join(', ')
}

// undoOf says what takes back what an operation has already done.
export function undoOf(action: string): string {
  switch (action) {
    case 'pause':
      return 'To undo what was done, resume those services.'
    case 'resume':
      return 'To undo what was done, pause those services again.'
    case 'rollback':
      return 'To undo what was done, resume those services: they follow their source again.'
    default:
      return 'A sync that was done needs no undo: it applied what is declared.'
  }
}
