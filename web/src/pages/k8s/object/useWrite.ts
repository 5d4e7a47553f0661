import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type Change, type Place, write } from '../kube/calls'
import { objectKey } from '../kube/useObject'
import { toast } from '#/ds/toast'

// useWrite makes one change at a time, says what it did, and keeps the refusal.
export function useWrite(place: Place, name: string) {
  const client = useQueryClient()
  const [busy, setBusy] = useState('')
  const [failed, setFailed] = useState<{ what: string; error: unknown } | undefined>()
  const run = async (what: string, done: string, change: Change): Promise<boolean> => {
    setBusy(what)
    setFailed(undefined)
    try {
      const { object, warnings } = await write(place, name, change)
      if (change.verb !== 'delete' && !change.subresource && object.metadata) client.setQueryData(objectKey(place, name), object)
      toast([done, ...warnings].join(' '))
      return true
    } catch (error) {
      setFailed({ what, error })
      return false
    } finally {
      setBusy('')
    }
  }
  return { busy, failed, run, clear: () => setFailed(undefined) }
}
