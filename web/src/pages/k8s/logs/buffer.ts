import { type Level, type Line, parseLine, timeKey } from './line'

export const capacity = 50_000
// Dropping one line at a time would move 50,000; this many go at once.
const slack = 2_500

export interface LogFilter {
  match: RegExp | undefined
  not: RegExp | undefined
  levels: ReadonlySet<Level>
  sources: ReadonlySet<number>
}

export function passes(line: Line, f: LogFilter): boolean {
  return f.levels.has(line.level) && f.sources.has(line.source) && (!f.match || f.match.test(line.text)) && !f.not?.test(line.text)
}

// LogBuffer has the last 50,000 lines of several sources in the order of their
// times. What is older falls out; dropped says how many.
export class LogBuffer {
  private lines: Line[] = []
  private shown: Line[] = []
  private filter: LogFilter | undefined
  private next = 0
  dropped = 0
  // Rises with every change, for those who render.
  version = 0

  constructor(private max = capacity) {}

  get size(): number {
    return this.lines.length
  }

  all(): readonly Line[] {
    return this.lines
  }

  visible(): readonly Line[] {
    return this.shown
  }

  countOf(level: Level): number {
    let n = 0
    for (const line of this.lines) if (line.level === level) n++
    return n
  }

  setFilter(filter: LogFilter): void {
    this.filter = filter
    this.shown = this.lines.filter((l) => passes(l, filter))
    this.version++
  }

  push(raw: string[], source: number): void {
    if (raw.length === 0) return
    const added = raw.map((r) => parseLine(r, source, this.next++))
    // A line without a time stays behind the one before it.
    added.forEach((l, i) => {
      if (!l.time) l.time = added[i - 1]?.time ?? this.lines.at(-1)?.time ?? ''
    })
    const first = timeKey(added[0]!.time)
    const last = this.lines.at(-1)
    if (!last || timeKey(last.time) <= first) {
      for (const line of added) this.lines.push(line)
      if (this.filter) for (const line of added) if (passes(line, this.filter)) this.shown.push(line)
    } else {
      // Other sources were ahead: only what is later than the first is sorted in.
      let at = this.lines.length
      while (at > 0 && timeKey(this.lines[at - 1]!.time) > first) at--
      const tail = merge(this.lines.splice(at), added)
      for (const line of tail) this.lines.push(line)
      if (this.filter) this.setFilter(this.filter)
    }
    this.trim()
    this.version++
  }

  // add appends lines that come in the order of their times.
  add(lines: Omit<Line, 'id'>[]): void {
    if (lines.length === 0) return
    for (const l of lines) {
      const line = { ...l, id: this.next++ }
      this.lines.push(line)
      if (this.filter && passes(line, this.filter)) this.shown.push(line)
    }
    this.trim()
    this.version++
  }

  private trim(): void {
    const over = this.lines.length - this.max
    if (over <= 0 || (over < slack && this.max > slack)) return
    const gone = this.lines.splice(0, over)
    this.dropped += over
    const lastGone = new Set(gone.map((l) => l.id))
    const keep = this.shown.findIndex((l) => !lastGone.has(l.id))
    this.shown.splice(0, keep < 0 ? this.shown.length : keep)
  }

  clear(): void {
    this.lines = []
    this.shown = []
    this.dropped = 0
    this.version++
  }
}

// merge keeps the order within each side; equal times keep what was there first.
function merge(a: Line[], b: Line[]): Line[] {
  const out: Line[] = []
  let j = 0
  const sorted = b.toSorted((x, y) => (timeKey(x.time) < timeKey(y.time) ? -1 : timeKey(x.time) > timeKey(y.time) ? 1 : x.id - y.id))
  for (const line of a) {
    while (j < sorted.length && timeKey(sorted[j]!.time) < timeKey(line.time)) out.push(sorted[j++]!)
    out.push(line)
  }
  while (j < sorted.length) out.push(sorted[j++]!)
  return out
}

// regexOf compiles what a person typed; a mistake comes back as its message.
export function regexOf(text: string): { regex: RegExp | undefined; problem: string | undefined } {
  if (!text) return { regex: undefined, problem: undefined }
  try {
    return { regex: new RegExp(text, /[A-Z]/.test(text) ? '' : 'i'), problem: undefined }
  } catch (error) {
    return { regex: undefined, problem: error instanceof Error ? error.message : String(error) }
  }
}
