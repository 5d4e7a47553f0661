import { preferences, setPreferences } from '../preferences'
import { type View, longest, most, named, storedOf, tidy } from './views'
import { session } from '#/api/session'

// refusal says why a view cannot have a name: a new one, or one that is renamed from it.
export function refusal(views: View[], name: string, from?: string): string | undefined {
  const wanted = tidy(name)
  if (wanted === '') return 'Give the view a name.'
  if (wanted.length > longest) return `A name has at most ${longest} characters; this one has ${wanted.length}.`
  const other = views.find(named(wanted))
  if (other && other.name !== from) return `You have a view “${other.name}” already. Choose another name, or remove that view first.`
  return from === undefined && views.length >= most ? fullOf(views) : undefined
}

export function fullOf(views: View[]): string {
  return `You have ${most} views, and more are not kept. Open one that you no longer need, such as “${views[0]?.name}”, which is the oldest, and remove it.`
}

// setMyViews returns whether the browser stored them; if not, they last as long as the page.
export function setMyViews(views: View[]): boolean {
  return setPreferences({ views: { ...storedOf(preferences().views), [session().id]: views } })
}
