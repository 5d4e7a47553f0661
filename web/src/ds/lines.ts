// A line diff: what was taken out, put in, or stayed.
export interface DiffLine {
  kind: 'same' | 'out' | 'in'
  text: string
  // Line numbers on both sides, from 1.
  left?: number
  right?: number
}

// Above this the middle of two texts is shown as replaced, not compared.
const maxCells = 4_000_000

export function diffLines(before: string, after: string): DiffLine[] {
  const a = before === '' ? [] : before.replace(/\n$/, '').split('\n')
  const b = after === '' ? [] : after.replace(/\n$/, '').split('\n')
  let head = 0
  while (head < a.length && head < b.length && a[head] === b[head]) head++
  let tail = 0
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++
  const out: DiffLine[] = []
  const same = (i: number, j: number) => out.push({ kind: 'same', text: a[i]!, left: i + 1, right: j + 1 })
  for (let i = 0; i < head; i++) same(i, i)
  middle(a, b, head, a.length - tail, b.length - tail, out)
  for (let i = tail; i > 0; i--) same(a.length - i, b.length - i)
  return out
}

// middle compares by the longest common subsequence.
function middle(a: string[], b: string[], from: number, toA: number, toB: number, out: DiffLine[]): void {
  const n = toA - from
  const m = toB - from
  if (n * m > maxCells) {
    for (let i = from; i < toA; i++) out.push({ kind: 'out', text: a[i]!, left: i + 1 })
    for (let j = from; j < toB; j++) out.push({ kind: 'in', text: b[j]!, right: j + 1 })
    return
  }
  const width = m + 1
  const table = new Uint32Array((n + 1) * width)
  for (let i = n - 1; i >= 0; i--) {
    for (let j = m - 1; j >= 0; j--) {
      table[i * width + j] = a[from + i] === b[from + j] ? table[(i + 1) * width + j + 1]! + 1 : Math.max(table[(i + 1) * width + j]!, table[i * width + j + 1]!)
    }
  }
  let i = 0
  let j = 0
  while (i < n || j < m) {
    if (i < n && j < m && a[from + i] === b[from + j]) {
      out.push({ kind: 'same', text: a[from + i]!, left: from + i + 1, right: from + j + 1 })
      i++
      j++
    } else if (j >= m || (i < n && table[(i + 1) * width + j]! >= table[i * width + j + 1]!)) {
      out.push({ kind: 'out', text: a[from + i]!, left: from + i + 1 })
      i++
    } else {
      out.push({ kind: 'in', text: b[from + j]!, right: from + j + 1 })
      j++
    }
  }
}

export interface Hunk {
  // Lines left out before it.
  skipped: number
  lines: DiffLine[]
}

// hunksOf keeps the changes with some lines around them.
export function hunksOf(lines: readonly DiffLine[], around = 3): Hunk[] {
  const keep = lines.map(() => false)
  lines.forEach((l, i) => {
    if (l.kind !== 'same') for (let k = Math.max(0, i - around); k <= Math.min(lines.length - 1, i + around); k++) keep[k] = true
  })
  const hunks: Hunk[] = []
  let skipped = 0
  let current: Hunk | undefined
  lines.forEach((line, i) => {
    if (!keep[i]) {
      skipped++
      current = undefined
      return
    }
    if (!current) {
      current = { skipped, lines: [] }
      hunks.push(current)
      skipped = 0
    }
    current.lines.push(line)
  })
  if (skipped && hunks.length) hunks.push({ skipped, lines: [] })
  return hunks
}

export function countChanges(lines: readonly DiffLine[]): { added: number; removed: number } {
  return { added: lines.filter((l) => l.kind === 'in').length, removed: lines.filter((l) => l.kind === 'out').length }
}
