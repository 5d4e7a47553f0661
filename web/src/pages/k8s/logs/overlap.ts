import { timeKey } from './line'

const stampOf = (line: string) => /^\d{4}-\d\d-\d\dT[^ ]+/.exec(line)?.[0] ?? ''

// Overlap drops what is had already, when a log is read again from its last
// second on. Lines are told by their times; those of the same moment by how many
// there were. Within one stream nothing is dropped.
export class Overlap {
  // The time of the newest line, and how many lines have it.
  last = ''
  private count = 0
  private skip: { at: string; left: number } | undefined

  // resume begins another stream.
  resume(): void {
    this.skip = this.last ? { at: timeKey(this.last), left: this.count } : undefined
  }

  take(lines: string[]): string[] {
    const fresh = []
    for (const line of lines) {
      const stamp = stampOf(line)
      if (this.skip && stamp) {
        const key = timeKey(stamp)
        if (key < this.skip.at) continue
        if (key === this.skip.at && this.skip.left > 0) {
          this.skip.left--
          continue
        }
        if (key > this.skip.at) this.skip = undefined
      }
      if (stamp) {
        this.count = stamp === this.last ? this.count + 1 : 1
        this.last = stamp
      }
      fresh.push(line)
    }
    return fresh
  }
}
