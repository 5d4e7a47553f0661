import { useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo } from 'react'
import { type Field, type Filter, filterOf, searchOf } from './filter'
import { type Search, textOf } from '#/app/search'

// useListState is everything about a list that is in the URL: filter, sort,
// columns, the row beside the list, and how it is shown.
export function useListState(fields: readonly Field[]) {
  const search = useSearch({ strict: false }) as Search
  const navigate = useNavigate()
  const filter = useMemo(() => filterOf(search, fields), [search, fields])
  const patch = (change: Search) => {
    void navigate({ to: '.', search: (old: Search) => ({ ...old, ...change }), replace: true } as never)
  }
  return {
    filter,
    sort: textOf(search['sort']),
    columns: textOf(search['cols']).split(',').filter(Boolean),
    peek: textOf(search['peek']) || undefined,
    view: textOf(search['view']),
    group: textOf(search['group']),
    setFilter: (f: Filter) => patch({ ...searchOf(f, fields), peek: undefined }),
    setSort: (sort: string) => patch({ sort: sort || undefined }),
    setColumns: (ids: string[]) => patch({ cols: ids.join(',') || undefined }),
    setPeek: (id: string | undefined) => patch({ peek: id }),
    setView: (view: string) => patch({ view: view || undefined }),
    setGroup: (group: string) => patch({ group: group || undefined }),
  }
}
