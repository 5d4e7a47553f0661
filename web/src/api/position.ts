// Read-your-writes: each answer tells a position of the hub's change feed, and
// each call says the last one, so that no replica answers with less.

let seen = ''

// Positions are INCARNATION.SEQUENCE; later incarnations sort after earlier.
export function laterOf(a: string, b: string): string {
  if (!a || !b) return a || b
  const [lifeA, countA] = parts(a)
  const [lifeB, countB] = parts(b)
  if (lifeA !== lifeB) return lifeA > lifeB ? a : b
  return countA >= countB ? a : b
}

function parts(position: string): [string, number] {
  const cut = position.indexOf('.')
  return [position.slice(0, cut), Number(position.slice(cut + 1))]
}

export function note(position: string | null): void {
  if (position) seen = laterOf(seen, position)
}

export function lastSeen(): string {
  return seen
}
