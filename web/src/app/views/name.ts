import { longest } from './views'

// What a list shows, in the words of which a view's name is made.
export interface Words {
  // What is listed: "services".
  noun: string
  // Before it: "failed".
  are?: string[]
  // Where they are: "prod-eu".
  of?: string[]
  // What follows as it is: "since 24h".
  more?: string[]
  // Clauses: "namespace is web".
  where?: string[]
}

// nameOf makes a sentence of them: "Failed services of prod-eu where namespace is web".
export function nameOf({ noun, are = [], of = [], more = [], where = [] }: Words): string {
  const text = [
    are.join(', ').toLowerCase(),
    noun,
    of.length > 0 && `of ${of.join(' and ')}`,
    ...more,
    where.length > 0 && `where ${where.join(' and ')}`,
  ]
    .filter(Boolean)
    .join(' ')
  const whole = text.charAt(0).toUpperCase() + text.slice(1)
  // Not in the middle of a word, unless that is long.
  return whole.length <= longest ? whole : `${whole.slice(0, longest - 1).replace(/\s+\S{0,12}$/, '')}…`
}
