// Overlap drops what is had already, when the log of a container is read again from some time on.
// Lines are told by their times; those of the same moment by how many there were. Within one
// stream nothing is dropped. Times are the hub's: UTC with nanoseconds, so that they sort as texts.
export class Overlap {
  // The time of the newest line, and how many lines have it.
  private last = ''
  private count = 0
  private skip: { at: string; left: number } | undefined

  // resume begins another stream.
  resume(): void {
    this.skip = this.last ? { at: this.last, left: this.count } : undefined
  }

  fresh(time: string): boolean {
    if (!time) return true
    if (this.skip) {
      if (time < this.skip.at) return false
      if (time === this.skip.at && this.skip.left > 0) {
        this.skip.left--
        return false
      }
      if (time > this.skip.at) this.skip = undefined
    }
    this.count = time === this.last ? this.count + 1 : 1
    this.last = time
    return true
  }
}
