import { useMemo } from 'react'
import { type Entry, navigation } from '../navigation'
import { preferences, usePreferences } from '../preferences'
import { type Search, parseSearch, stringifySearch } from '../search'
import { session } from '#/api/session'

// A saved view is an address with a name. It is kept in this browser, for the person who
// saved it: its name and its address may tell names of clusters.
export interface View extends Place {
  name: string
}

export interface Place {
  path: string
  search: string
}

export const most = 20
export const longest = 60

// pageOf is the entry of the navigation that a path belongs to; Home has no views.
export function pageOf(path: string): Entry | undefined {
  return navigation.flatMap((g) => g.entries).find((e) => e.to !== '/' && (path === e.to || path.startsWith(`${e.to}/`)))
}

// placeOf reads an address of this console. It returns only what the URL parser of the
// browser made of it, so nothing that is stored leads to another origin or a script.
export function placeOf(address: string): Place | undefined {
  if (!/^\/[a-z]/.test(address)) return undefined
  const { pathname: path, search } = new URL(address, location.origin)
  // What is open beside a list, or above it, is no part of a view.
  const { peek: _, record: __, ...kept }: Search = parseSearch(search)
  return pageOf(path) && { path, search: stringifySearch(kept) }
}

// keyOf is the same for addresses that show the same: the order of parameters means nothing.
export function keyOf({ path, search }: Place): string {
  return JSON.stringify([path, [...new URLSearchParams(search)].map((pair) => JSON.stringify(pair)).toSorted()])
}

// isPlain says that a page shows what it does by default. Its tab is a page of its own.
export function isPlain({ search }: Place): boolean {
  return Object.keys(parseSearch(search)).every((key) => key === 'tab')
}

export function tidy(name: string): string {
  return name.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim()
}

export const named = (name: string) => (view: View) => view.name.toLowerCase() === name.toLowerCase()

// readViews reads what is stored: another version wrote it, or a person. What is no view
// is left out.
export function readViews(stored: unknown): View[] {
  const views: View[] = []
  for (const one of Array.isArray(stored) ? (stored as unknown[]) : []) {
    const { name, path, search } = Object(one) as Record<string, unknown>
    if (typeof name !== 'string' || typeof path !== 'string' || typeof search !== 'string') continue
    const place = placeOf(path + search)
    if (place && name !== '' && name === tidy(name) && name.length <= longest && !views.some(named(name))) views.push({ name, ...place })
  }
  return views.slice(0, most)
}

// storedOf reads the preference, which is of anything.
export function storedOf(views: unknown): Record<string, unknown> {
  return Object(views) as Record<string, unknown>
}

export function myViews(): View[] {
  return readViews(storedOf(preferences().views)[session().id])
}

export function useViews(): View[] {
  const { views } = usePreferences()
  const { id } = session()
  return useMemo(() => readViews(storedOf(views)[id]), [views, id])
}
