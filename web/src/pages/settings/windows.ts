import type { SyncWindow } from '#/api/gen/hub/v1/spec_pb'

export type Window = Pick<SyncWindow, 'kind' | 'schedule' | 'duration' | 'timeZone' | 'manualSync'>

export const newWindow: Window = { kind: 'allow', schedule: '0 9 * * mon-fri', duration: '8h', timeZone: '', manualSync: true }

const shorthands: Record<string, string> = { '@hourly': '0 * * * *', '@daily': '0 0 * * *', '@midnight': '0 0 * * *', '@weekly': '0 0 * * 0', '@monthly': '0 0 1 * *', '@yearly': '0 0 1 1 *', '@annually': '0 0 1 1 *' }
const weekdays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday']
const months = ['', 'January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December']

const name = (text: string, names: string[]) => {
  const i = /^\d+$/.test(text) ? Number(text) : names.findIndex((n) => n && n.toLowerCase().startsWith(text.toLowerCase()))
  return names[i] ?? text
}

// part says one field: "1-5" as "monday to friday", "1,3" as "monday and wednesday".
function part(field: string, names?: string[]): string {
  const one = (text: string) => {
    const [range, step] = text.split('/')
    const said = range!
      .split('-')
      .map((t) => (names ? name(t, names) : t))
      .join(' to ')
    return step ? `every ${step} of ${range === '*' ? 'all' : said}` : said
  }
  const all = field.split(',').map(one)
  return all.length > 1 ? `${all.slice(0, -1).join(', ')} and ${all.at(-1)}` : all[0]!
}

// scheduleText says a cron line in words: "at 09:00, monday to friday".
export function scheduleText(line: string): string {
  const fields = (shorthands[line.trim()] ?? line).trim().split(/\s+/)
  if (fields.length !== 5) return `"${line}"`
  const [minute, hour, day, month, weekday] = fields as [string, string, string, string, string]
  const plain = /^\d+$/
  const two = (t: string) => t.padStart(2, '0')
  const at =
    plain.test(minute) && plain.test(hour)
      ? `at ${two(hour)}:${two(minute)}`
      : minute === '*' && hour === '*'
        ? 'every minute'
        : plain.test(minute) && hour === '*'
          ? `${minute} minutes past every hour`
          : `at minute ${part(minute)} of hour ${hour === '*' ? 'every' : part(hour)}`
  const days = [day === '*' ? '' : `on day ${part(day)}`, weekday === '*' ? '' : part(weekday, weekdays)].filter(Boolean).join(' or ')
  const when = [days || 'every day', month === '*' ? '' : `in ${part(month, months)}`].filter(Boolean).join(' ')
  return `${at}, ${when}`
}

// windowText is a window as a sentence.
export function windowText(w: Window): string {
  const what = w.kind === 'deny' ? 'No new revision' : 'New revisions only'
  const zone = w.timeZone || 'UTC'
  return `${what} ${scheduleText(w.schedule)}, for ${w.duration || 'no time'} (${zone}); a sync by hand ${w.manualSync ? 'passes' : w.kind === 'deny' ? 'waits too' : 'waits for it too'}`
}

const limits: [what: string, min: number, max: number, names?: string[]][] = [
  ['minute', 0, 59],
  ['hour', 0, 23],
  ['day of the month', 1, 31],
  ['month', 1, 12, months],
  ['day of the week', 0, 7, weekdays],
]

// checkWindow says what is wrong with a window; the hub checks again.
export function checkWindow(w: Window): string | undefined {
  const fields = (shorthands[w.schedule.trim()] ?? w.schedule).trim().split(/\s+/)
  if (fields.length !== 5) return `Schedule "${w.schedule}" has ${w.schedule.trim() ? fields.length : 0} fields; cron wants minute, hour, day of the month, month, day of the week.`
  for (const [i, [what, min, max, names]] of limits.entries()) {
    for (const item of fields[i]!.split(',')) {
      const [range, step, more] = item.split('/')
      const ends = range === '*' ? [] : range!.split('-')
      const number = (t: string) => (/^\d+$/.test(t) ? Number(t) : names && /^[a-z]{3}$/i.test(t) ? names.findIndex((n) => n && n.slice(0, 3).toLowerCase() === t.toLowerCase()) : -1)
      const bad = more !== undefined || (step !== undefined && !/^[1-9]\d*$/.test(step)) || ends.length > 2 || ends.some((e) => number(e) < min || number(e) > max)
      if (bad) return `Schedule: the ${what} "${fields[i]}" is not right; use ${min} to ${max}, ranges, lists or *.`
    }
  }
  if (!/^(\d+(\.\d+)?(h|m|s|ms))+$/.test(w.duration.trim()) || !/[1-9]/.test(w.duration)) return `Duration "${w.duration}" is not right; use one such as 1h30m.`
  if (w.timeZone) {
    try {
      Intl.DateTimeFormat('en', { timeZone: w.timeZone })
    } catch {
      return `Time zone "${w.timeZone}" is not known; use an IANA name such as Europe/Berlin.`
    }
  }
  return undefined
}
