import { useEffect } from 'react'
import { follow } from '#/live/client'

// useEvents keeps the live stream open on every page: its state in the top bar
// is then true everywhere.
export function useEvents(): void {
  useEffect(() => follow({ topics: { services: [], clusters: [], hints: ['notifications'] } }), [])
}
