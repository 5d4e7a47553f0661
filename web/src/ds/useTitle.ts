import { useEffect } from 'react'

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = title === 'Axle' ? title : `${title} · Axle`
  }, [title])
}
