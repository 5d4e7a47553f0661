import { useEffect } from 'react'

// useKubeTitle names the document after what is below the cluster's header, which
// sets its own title in the same moment.
export function useKubeTitle(title: string): void {
  useEffect(() => {
    let gone = false
    queueMicrotask(() => {
      if (!gone) document.title = `${title} · Axle`
    })
    return () => {
      gone = true
    }
  }, [title])
}
