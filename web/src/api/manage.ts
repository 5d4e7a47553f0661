import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useRef } from 'react'
import { keyOf } from './call'
import type { Manager } from './gen/hub/v1/hub_pb'

// Who writes from here: a person, and on request one who takes the object over
// from the tool that manages it.
export function byConsole(takeOver = false): { by: { tool: string }; takeOver: boolean } {
  return { by: { tool: 'console' }, takeOver }
}

type Said = Pick<Manager, 'tool' | 'id'>

// managerText is who manages an object, as the end of "managed by".
export function managerText(manager: Said | undefined): string {
  if (!manager || !manager.tool) return 'nobody'
  const { tool, id } = manager
  switch (tool) {
    case 'cli':
    case 'console':
      return 'people'
    case 'operator':
      return `the operator: ${resource(id)}`
    case 'terraform':
      return `Terraform: ${id}`
    case 'apply':
      return `axle apply: set ${id}`
    case 'hub':
      return `the hub: ${id}`
    default:
      return id ? `${tool}: ${id}` : tool
  }
}

// An operator's id is CLUSTER/KIND.GROUP/NAMESPACE/NAME.
function resource(id: string): string {
  const parts = id.split('/')
  if (parts.length !== 4) return id
  return `${parts[1]!.split('.')[0]} ${[parts[2], parts[3]].filter(Boolean).join('/')}`
}

// declares says whether the manager writes its objects again when they differ,
// so that a change made here is refused or does not last.
export function declares(manager: Said | undefined): boolean {
  return manager !== undefined && !['', 'cli', 'console'].includes(manager.tool)
}

type Method = { name: string; parent: { typeName: string } }

// useAgain returns a function that reads again what some calls answered.
export function useAgain(...methods: Method[]): () => Promise<void> {
  const client = useQueryClient()
  const latest = useRef(methods)
  return useCallback(async () => {
    await Promise.all(latest.current.map((m) => client.invalidateQueries({ queryKey: keyOf(m) })))
  }, [client])
}
