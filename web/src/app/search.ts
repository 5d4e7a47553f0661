// Search parameters of the URL are plain text: ?verdict=Failed&verdict=Stale.
// A parameter that occurs once is a string, more often an array.
export type Search = Record<string, string | string[] | undefined>

export function parseSearch(text: string): Search {
  const out: Record<string, string | string[]> = {}
  for (const [key, value] of new URLSearchParams(text)) {
    const before = out[key]
    out[key] = before === undefined ? value : Array.isArray(before) ? [...before, value] : [before, value]
  }
  return out
}

export function stringifySearch(search: Record<string, unknown>): string {
  const parameters = new URLSearchParams()
  for (const [key, value] of Object.entries(search)) {
    if (Array.isArray(value)) for (const v of value) parameters.append(key, String(v))
    else if (value !== undefined && value !== null && value !== '') parameters.append(key, String(value))
  }
  const text = parameters.toString().replaceAll('%2C', ',').replaceAll('%3A', ':').replaceAll('%2F', '/').replaceAll('%21', '!').replaceAll('%3D', '=')
  return text ? `?${text}` : ''
}

// listOf reads a parameter that may occur several times.
export function listOf(value: Search[string]): string[] {
  return value === undefined || value === '' ? [] : Array.isArray(value) ? value : [value]
}

export function textOf(value: Search[string]): string {
  return Array.isArray(value) ? (value.at(-1) ?? '') : (value ?? '')
}
