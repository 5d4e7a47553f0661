import { type Line, verbOf } from './record'

const columns: [string, (l: Line) => string | number | bigint | undefined][] = [
  ['seq', (l) => l.seq],
  ['time', (l) => (l.facts.at ? new Date(l.facts.at / 1_000).toISOString() : '')],
  ['actor', (l) => l.facts.actor],
  ['actor_kind', (l) => l.facts.actor_kind],
  ['token_id', (l) => l.facts.token_id],
  ['source', (l) => l.facts.source],
  ['action', (l) => l.facts.action],
  ['verb', (l) => l.facts.verb ?? verbOf(l.facts)],
  ['kind', (l) => l.facts.kind],
  ['namespace', (l) => l.facts.namespace],
  ['name', (l) => l.facts.name],
  ['project_id', (l) => l.facts.project_id],
  ['cluster_id', (l) => l.facts.cluster_id],
  ['result', (l) => l.facts.result],
  ['status', (l) => l.facts.status],
  ['as_user', (l) => l.facts.as_user],
  ['detail', (l) => l.facts.detail && JSON.stringify(l.facts.detail)],
  ['before', (l) => l.facts.before],
  ['after', (l) => l.facts.after],
  ['hash', (l) => l.hash],
]

// cell is one field of RFC 4180. What a spreadsheet would run as a formula gets
// an apostrophe: names and commit messages come from others.
export function cell(value: string | number | bigint | undefined): string {
  const text = value === undefined ? '' : String(value)
  const safe = typeof value === 'string' && /^[\s]*[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

export function csvOf(lines: Line[]): string {
  return [columns.map(([name]) => name), ...lines.map((l) => columns.map(([, of]) => of(l)))].map((row) => row.map(cell).join(',')).join('\r\n') + '\r\n'
}

// jsonOf is one record a line, as `axle audit export` writes them.
export function jsonOf(lines: Line[]): string {
  return lines.map((l) => `{"seq":${l.seq},"hash":${JSON.stringify(l.hash)},"record":${l.text}}\n`).join('')
}

// save gives a text to the person as a file.
export function save(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
