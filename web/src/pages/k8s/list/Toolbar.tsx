import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import styles from '../kube/Kube.module.css'
import { objectsOf } from '../kube/calls'
import { parseTable } from '../kube/table'
import { useParameter } from './scope'
import type { Scope } from './scope'
import { unary } from '#/api/call'
import { ClusterAPI } from '#/api/gen/hub/v1/proxy_pb'
import { useKeys } from '#/app/useKeys'
import { Select, TextField } from '#/ds/Form'

// useNamespaces are the names of a cluster's namespaces; undefined while unknown,
// or when the person may not list them.
export function useNamespaces(cluster: string): { names: string[] | undefined; refused: boolean } {
  const { data, error } = useQuery({
    queryKey: ['k8s', cluster, 'namespaces'],
    staleTime: 60_000,
    queryFn: async ({ signal }) => {
      const answer = await unary(ClusterAPI.method.listObjects, { objects: objectsOf({ cluster, gvr: { group: '', version: 'v1', resource: 'namespaces' } }), limit: 2_000n, table: true }, signal)
      return parseTable(answer.json).rows.map((r) => r.meta.name)
    },
  })
  return { names: data, refused: error !== null && !data }
}

function NamespaceScope({ cluster, scope }: { cluster: string; scope: Scope }) {
  const { names, refused } = useNamespaces(cluster)
  const [typed, setTyped] = useState(scope.namespace)
  if (refused) {
    return (
      <form
        onSubmit={(e) => {
          e.preventDefault()
          scope.setNamespace(typed)
        }}
      >
        <TextField label="Namespace" hideLabel placeholder="Namespace, then Enter" value={typed} onChange={setTyped} />
      </form>
    )
  }
  const all = names && scope.namespace && !names.includes(scope.namespace) ? [scope.namespace, ...names] : (names ?? (scope.namespace ? [scope.namespace] : []))
  return <Select label="Namespace" hideLabel value={scope.namespace} onChange={scope.setNamespace} options={[{ value: '', label: 'All namespaces' }, ...all.map((n) => ({ value: n, label: n }))]} />
}

// useFilter is the text filter of a list: in the URL, a moment after typing.
export function useFilter(placeholder = 'Filter: name, label=value, !not'): { text: string; field: ReactNode } {
  const [text, setText] = useParameter('q')
  const [typed, setTyped] = useState(text)
  const input = useRef<HTMLInputElement>(null)
  const latest = useRef(setText)
  useEffect(() => {
    latest.current = setText
  })
  useEffect(() => setTyped(text), [text])
  useEffect(() => {
    if (typed === text) return undefined
    const timer = setTimeout(() => latest.current(typed), 200)
    return () => clearTimeout(timer)
  }, [typed, text])
  useKeys('Filter', [{ keys: '/', does: 'filter the list', run: () => input.current?.focus() }])
  const field = (
    <TextField
      ref={input}
      label="Filter"
      hideLabel
      type="search"
      placeholder={placeholder}
      value={typed}
      onChange={setTyped}
      onKeyDown={(e) => {
        if (e.key !== 'Escape') return
        setTyped('')
        e.currentTarget.blur()
      }}
    />
  )
  return { text, field }
}

interface Props {
  cluster: string
  scope?: Scope | undefined
  filter: ReactNode
  children?: ReactNode
}

export function Toolbar({ cluster, scope, filter, children }: Props) {
  return (
    <div className={styles.toolbar} role="search">
      {scope && (
        <div className={styles.scope}>
          <NamespaceScope cluster={cluster} scope={scope} />
        </div>
      )}
      <div className={styles.filter}>{filter}</div>
      {children}
    </div>
  )
}
