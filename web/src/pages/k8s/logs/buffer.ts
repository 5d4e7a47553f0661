import type { Level, Line } from './line'

export const capacity = 50_000
// Dropping one line at a time would move 50,000; this many go at once.
const slack = 2_500

export interface LogFilter {
  match: RegExp | undefined
  not: RegExp | undefined
  levels: ReadonlySet<Level>
}

export function passes(line: Line, f: LogFilter): boolean {
  return f.levels.has(line.level) && (!f.match || f.match.test(line.text)) && !f.not?.test(line.text)
}

// LogBuffer has the last 50,000 lines, in the order in which the hub merged them. What is older
// falls out; dropped says how many.
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

// regexOf compiles what a person typed; a mistake comes back as its message.
export function regexOf(text: string): { regex: RegExp | undefined; problem: string | undefined } {
  if (!text) return { regex: undefined, problem: undefined }
  try {
    return { regex: new RegExp(text, /[A-Z]/.test(text) ? '' : 'i'), problem: undefined }
  } catch (error) {
    return { regex: undefined, problem: error instanceof Error ? error.message : String(error) }
  }
}
