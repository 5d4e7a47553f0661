import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { type Place, getObject } from './calls'
import { type Liveness, follow } from './follow'
import { formatGVR } from './gvr'
import { type KubeObject, decode } from './object'
import { isCode } from '#/api/errors'
import { Code } from '@connectrpc/connect'

export function objectKey(place: Place, name: string): unknown[] {
  return ['k8s', place.cluster, 'object', formatGVR(place.gvr), place.namespace ?? '', name]
}

// useObject is one object, kept up to date. The events of a Secret carry no more
// than that it changed: they are Tables, and it is read again without its values.
export function useObject(place: Place, name: string, enabled = true) {
  const client = useQueryClient()
  const key = objectKey(place, name)
  const [live, setLive] = useState<Liveness | undefined>()
  const [deleted, setDeleted] = useState(false)
  const query = useQuery({ queryKey: key, enabled, staleTime: 2_000, structuralSharing: false, queryFn: ({ signal }) => getObject(place, name, signal) })
  const secret = place.gvr.group === '' && place.gvr.resource === 'secrets'
  const there = query.data !== undefined
  const keyText = JSON.stringify(key)
  useEffect(() => {
    setDeleted(false)
    setLive(undefined)
  }, [keyText])
  useEffect(() => {
    if (!enabled || !there) return undefined
    const abort = new AbortController()
    const version = client.getQueryData<KubeObject>(key)?.metadata.resourceVersion ?? ''
    const read = async (signal: AbortSignal) => {
      try {
        const o = await getObject(place, name, signal)
        client.setQueryData(key, o)
        setDeleted(false)
        return o.metadata.resourceVersion ?? ''
      } catch (error) {
        if (isCode(error, Code.NotFound)) setDeleted(true)
        throw error
      }
    }
    const onEvent = (type: string, json: Uint8Array) => {
      if (type === 'DELETED') setDeleted(true)
      else if (secret) void read(abort.signal).catch(() => {})
      else {
        setDeleted(false)
        client.setQueryData(key, decode(json))
      }
    }
    void follow({ place, fieldSelector: `metadata.name=${name}`, table: secret, read, onEvent, onState: setLive }, version, abort.signal)
    return () => abort.abort()
    // oxlint-disable-next-line react/exhaustive-deps -- keyText is place and name
  }, [client, keyText, there, enabled])
  return { ...query, live, deleted }
}
