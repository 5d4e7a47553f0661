// pairsOf reads KEY=VALUE lines; a text says what is wrong.
export function pairsOf(text: string): Record<string, string> | string {
  const out: Record<string, string> = {}
  for (const raw of text.split('\n')) {
    const line = raw.trim()
    if (!line) continue
    const cut = line.indexOf('=')
    if (cut < 1) return `"${line}" is not KEY=VALUE.`
    const key = line.slice(0, cut).trim()
    if (key in out) return `"${key}" is there twice.`
    out[key] = line.slice(cut + 1).trim()
  }
  return out
}

export function pairsText(pairs: { [key: string]: string }): string {
  return Object.entries(pairs)
    .toSorted()
    .map(([k, v]) => `${k}=${v}`)
    .join(', ')
}

export function pairsLines(pairs: { [key: string]: string }): string {
  return Object.entries(pairs)
    .toSorted()
    .map(([k, v]) => `${k}=${v}`)
    .join('\n')
}

// wordsOf splits a list that people type with commas, spaces or lines.
export function wordsOf(text: string): string[] {
  return text.split(/[\s,]+/).filter(Boolean)
}
