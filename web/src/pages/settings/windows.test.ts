import { expect, test } from 'vitest'
import { checkWindow, newWindow, scheduleText, windowText } from './windows'

test('schedules are said in words', () => {
  expect(scheduleText('0 9 * * mon-fri')).toBe('at 09:00, monday to friday')
  expect(scheduleText('30 22 * * 6,0')).toBe('at 22:30, saturday and sunday')
  expect(scheduleText('0 0 24 12 *')).toBe('at 00:00, on day 24 in December')
  expect(scheduleText('15 * * * *')).toBe('15 minutes past every hour, every day')
  expect(scheduleText('@daily')).toBe('at 00:00, every day')
  expect(scheduleText('0 0 1 * mon')).toBe('at 00:00, on day 1 or monday')
  expect(scheduleText('*/15 9 * * *')).toBe('at minute every 15 of all of hour 9, every day')
  expect(scheduleText('nonsense')).toBe('"nonsense"')
})

test('a window says what it does, how long, where, and to whom', () => {
  expect(windowText({ ...newWindow, timeZone: 'Europe/Berlin' })).toBe('New revisions only at 09:00, monday to friday, for 8h (Europe/Berlin); a sync by hand passes')
  expect(windowText({ kind: 'deny', schedule: '0 12 * * *', duration: '1h', timeZone: '', manualSync: false })).toBe('No new revision at 12:00, every day, for 1h (UTC); a sync by hand waits too')
})

test('a window that the hub would refuse says why', () => {
  expect(checkWindow(newWindow)).toBeUndefined()
  for (const schedule of ['@weekly', '*/5 0-6 1,15 jan-mar sun', '0 0 * * 7']) expect(checkWindow({ ...newWindow, schedule })).toBeUndefined()
  expect(checkWindow({ ...newWindow, schedule: '0 9 * *' })).toContain('has 4 fields')
  expect(checkWindow({ ...newWindow, schedule: '' })).toContain('has 0 fields')
  expect(checkWindow({ ...newWindow, schedule: '60 9 * * *' })).toContain('minute "60"')
  expect(checkWindow({ ...newWindow, schedule: '0 9 0 * *' })).toContain('day of the month')
  expect(checkWindow({ ...newWindow, schedule: '0 9 * * foo' })).toContain('day of the week')
  expect(checkWindow({ ...newWindow, schedule: '0 9 * * 1/0' })).toContain('day of the week')
  expect(checkWindow({ ...newWindow, duration: '8' })).toContain('Duration')
  expect(checkWindow({ ...newWindow, duration: '0h' })).toContain('Duration')
  expect(checkWindow({ ...newWindow, timeZone: 'Mars/Base' })).toContain('Mars/Base')
})
