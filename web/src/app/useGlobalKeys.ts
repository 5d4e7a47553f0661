import { useNavigate } from '@tanstack/react-router'
import type { Overlay } from './Shell'
import { navigation } from './navigation'
import { useKeys } from './useKeys'
import { copyText } from '#/ds/Copy'
import { toast } from '#/ds/toast'

// Keys that work on every page.
export function useGlobalKeys(setOverlay: (overlay: Overlay) => void): void {
  const navigate = useNavigate()
  useKeys('Everywhere', [
    { keys: 'mod+k', does: 'search and commands', typing: true, run: () => setOverlay('palette') },
    { keys: '?', does: 'keys of this page', run: () => setOverlay('keys') },
    {
      keys: 'c',
      does: 'copy the link to this view',
      run: () => {
        void copyText(location.href).then(() => toast('Link copied'))
      },
    },
    ...navigation.flatMap((g) => g.entries).map((entry) => ({
      keys: `g ${entry.key}`,
      does: `go to ${entry.label}`,
      run: () => {
        void navigate({ to: entry.to })
      },
    })),
  ])
}
