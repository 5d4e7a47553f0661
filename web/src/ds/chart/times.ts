// Times of an axis, in the time zone of the browser.

const hm = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const hms = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const dm = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })
const whole = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', second: '2-digit', timeZoneName: 'short' })

// ticksOf are the texts of the ticks of an axis: the date where the day begins and at the first.
export function ticksOf(splits: number[], increment: number): string[] {
  let day = ''
  return splits.map((at) => {
    const ms = at * 1000
    const date = dm.format(ms)
    if (increment >= 86_400) return date
    const clock = increment >= 60 ? hm.format(ms) : hms.format(ms)
    if (date === day) return clock
    const first = day === ''
    day = date
    return first && clock !== '00:00' ? clock : date
  })
}

// momentOf is a time with its date and zone.
export function momentOf(seconds: number): string {
  return whole.format(seconds * 1000)
}
