import { type TableRow, cellText } from '../kube/table'

// matcher makes a test of a filter: words that a row's name, namespace, labels
// ("app=web") or cells contain; "!" before a word excludes.
export function matcher(text: string, more: (row: TableRow) => string = () => ''): (row: TableRow) => boolean {
  const words = text.toLowerCase().split(/\s+/).filter((w) => w && w !== '!')
  if (words.length === 0) return () => true
  return (row) => {
    const labels = Object.entries(row.meta.labels ?? {}).map(([k, v]) => `${k}=${v}`)
    const all = [row.meta.name, row.meta.namespace ?? '', ...row.cells.map(cellText), ...labels, more(row)].join('\n').toLowerCase()
    return words.every((w) => (w.startsWith('!') ? !all.includes(w.slice(1)) : all.includes(w)))
  }
}
