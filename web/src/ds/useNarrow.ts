import { useSyncExternalStore } from 'react'

const query = '(max-width: 760px)'

function subscribe(listener: () => void): () => void {
  const media = matchMedia(query)
  media.addEventListener('change', listener)
  return () => media.removeEventListener('change', listener)
}

// useNarrow says whether the page is as narrow as a phone.
export function useNarrow(): boolean {
  return useSyncExternalStore(subscribe, () => matchMedia(query).matches)
}
