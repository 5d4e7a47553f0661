import { ShieldAlert } from 'lucide-react'
import { session } from '#/api/session'
import { Banner } from '#/ds/State'
import { useTicking } from '#/status/Age'
import { millis } from '#/status/age'

const fresh = 10 * 60_000

// ProofHint says before something is typed that the hub will ask for a password
// or passkey, when the last one is too long ago.
export function ProofHint() {
  const at = millis(session().provedAt)
  const old = useTicking((now) => now - at > fresh)
  if (!old) return null
  return (
    <Banner tone="idle" icon={ShieldAlert}>
      The hub asks for your password or passkey for this, because the last time was more than 10 minutes ago.{' '}
      <a href="/login/again" target="_blank" rel="noopener">
        Confirm in a new tab
      </a>{' '}
      and come back; what you type here stays.
    </Banner>
  )
}
